// --demo symbols: three ways from the host to a variable on the device.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>

#include "common/kit/check.cuh"

namespace window {

__device__ float symbols_demo_scale;
__global__ void symbols_demo_kernel(const float* added) { symbols_demo_scale += *added; }

inline float scale_on_the_device() {
  float value = 0;
  CUDA_CHECK(cudaMemcpyFromSymbol(&value, symbols_demo_scale, sizeof value));
  return value;
}

inline void symbols_demo() {
  // The symbol itself: by its name, which for the host is no pointer.
  const float two = 2;
  CUDA_CHECK(cudaMemcpyToSymbol(symbols_demo_scale, &two, sizeof two));
  std::printf("%-46s %g\n", "cudaMemcpyToSymbol(scale, 2)", scale_on_the_device());

  // Its address on the device: for cudaMemcpy, as that of any other memory.
  float* address = nullptr;
  CUDA_CHECK(cudaGetSymbolAddress(reinterpret_cast<void**>(&address), symbols_demo_scale));
  const float three = 3;
  CUDA_CHECK(cudaMemcpy(address, &three, sizeof three, cudaMemcpyHostToDevice));
  std::printf("%-46s %g\n", "cudaGetSymbolAddress, cudaMemcpy of 3", scale_on_the_device());

  // The same address as an argument of a kernel, which also knows the symbol by its name.
  symbols_demo_kernel<<<1, 1>>>(address);
  CUDA_CHECK(cudaGetLastError());
  std::printf("%-46s %g\n", "a kernel adds what the address names: 3 + 3", scale_on_the_device());
}

}  // namespace window
