// What launches ask about the device, and of it.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#include "common/kit/check.cuh"
#include "common/kit/skip.hpp"

namespace kit {

// Parts of size `part` that cover `whole`.
__host__ __device__ constexpr int divide_up(std::int64_t whole, int part) {
  return static_cast<int>((whole + part - 1) / part);
}

// An attribute of the current device.
inline int device_attribute(cudaDeviceAttr attribute) {
  int device = 0, value = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&value, attribute, device));
  return value;
}

// The SMs of the device that was current at the first call.
inline int multiprocessor_count() {
  static const int kCount = device_attribute(cudaDevAttrMultiProcessorCount);
  return kCount;
}

// Blocks of `block` threads, with `shared` bytes of dynamic shared memory each, that the whole
// device holds at once.
template <class Kernel>
int resident_blocks(Kernel kernel, int block, int shared = 0) {
  int per_multiprocessor = 0;
  CUDA_CHECK(
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_multiprocessor, kernel, block, shared));
  return multiprocessor_count() * per_multiprocessor;
}

// The most bytes of dynamic shared memory that a block of that device may have.
inline int most_shared() {
  static const int kMost = device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  return kMost;
}

// Lets a kernel have this many bytes of dynamic shared memory; above 48 KB it must be asked for.
// Throws Skip where there is not so much.
template <class Kernel>
void allow_shared(Kernel kernel, int bytes) {
  if (bytes > most_shared()) {
    throw Skip("needs " + std::to_string(bytes / 1024) + " KB of shared memory a block");
  }
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
}

}  // namespace kit
