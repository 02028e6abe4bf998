// Why there is no result: an error, or a rung that cannot run here.
//
// Every CUDA call is checked: CUDA_CHECK(cudaMalloc(&p, bytes));
// After a launch, which returns nothing, write CUDA_CHECK(cudaGetLastError()): it reports a launch
// that never started. What goes wrong while a kernel runs shows up at the next synchronising call.
#pragma once

#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

namespace kit {

// Thrown by CUDA_CHECK. what() reads "file:line: expression: cudaErrorName (code): meaning".
class CudaError : public std::runtime_error {
 public:
  CudaError(cudaError_t code, const std::string& message)
      : std::runtime_error(message), code_(code) {}
  cudaError_t code() const { return code_; }

 private:
  cudaError_t code_;
};

inline void check_cuda(cudaError_t code, const char* expression, const char* file, int line) {
  if (code == cudaSuccess) return;
  cudaGetLastError();  // the error is reported here; the next cudaGetLastError() starts afresh
  throw CudaError(code, std::string(file) + ":" + std::to_string(line) + ": " + expression + ": " +
                            cudaGetErrorName(code) + " (" + std::to_string(code) +
                            "): " + cudaGetErrorString(code));
}

// A rung cannot run here, at this size or on this device. what() names what is missing:
// Skip("needs rows of 16 bytes"). The row, the test and the sanitizer run of the rung then say
// skipped, with this reason; no other rung takes its place.
class Skip : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace kit

#define CUDA_CHECK(expression) ::kit::check_cuda((expression), #expression, __FILE__, __LINE__)
