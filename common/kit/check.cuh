// Error check for every CUDA call: CUDA_CHECK(cudaMalloc(&p, bytes));
//
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

}  // namespace kit

#define CUDA_CHECK(expression) ::kit::check_cuda((expression), #expression, __FILE__, __LINE__)
