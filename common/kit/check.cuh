// SPDX-License-Identifier: MIT
// Why there is no result: an error, or a rung that cannot run here.
//
// Every CUDA call is checked: CUDA_CHECK(cudaMalloc(&p, bytes));
// After a launch, which returns nothing, write CUDA_CHECK(cudaGetLastError()): it reports a launch
// that never started. What goes wrong while a kernel runs shows up at the next synchronising call.
//
// Before anything is allocated: kit::require_memory(host_bytes, device_bytes);
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdio>
#include <stdexcept>
#include <string>

namespace kit {

// Built by simt/nvcc, kernels run on the CPU. They are right or wrong as on a GPU, but the time
// that they take says nothing about one.
#ifdef __SIMT__
inline constexpr bool kHasGpu = false;
#else
inline constexpr bool kHasGpu = true;
#endif

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

// Bytes of host memory that can be had without swapping, as Linux counts them; 0 if it does not
// say.
inline double free_host_bytes() {
  unsigned long long kilobytes = 0;
  if (std::FILE* facts = std::fopen("/proc/meminfo", "r")) {
    char line[128];
    while (std::fgets(line, sizeof line, facts) &&
           std::sscanf(line, "MemAvailable: %llu kB", &kilobytes) != 1) {
    }
    std::fclose(facts);
  }
  return 1024.0 * static_cast<double>(kilobytes);
}

// Throws std::invalid_argument where the machine has less memory free: a size was too large. Linux
// itself does not refuse: it promises memory that it lacks, and ends the program that uses it.
inline void require_memory(double host_bytes, double device_bytes) {
  std::size_t device_free = 0, device_total = 0;
  check_cuda(cudaMemGetInfo(&device_free, &device_total), "cudaMemGetInfo", __FILE__, __LINE__);
  if (!kHasGpu) host_bytes += device_bytes;  // it is the same memory
  const double host_free = free_host_bytes();
  const bool on_host = host_free > 0 && host_bytes > host_free;
  if (!on_host && device_bytes <= static_cast<double>(device_free)) return;
  char text[128];
  std::snprintf(text, sizeof text, "needs %.2f GB of %s memory, and %.2f GB are free",
                (on_host ? host_bytes : device_bytes) / 1e9, on_host ? "host" : "device",
                (on_host ? host_free : static_cast<double>(device_free)) / 1e9);
  throw std::invalid_argument(text);
}

}  // namespace kit

#define CUDA_CHECK(expression) ::kit::check_cuda((expression), #expression, __FILE__, __LINE__)
