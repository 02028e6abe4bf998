// zero_copy: no memory on the device, the kernel reads and writes that of the host.
//
// Pinned memory can be mapped into the device's address space. A load then goes over the bus, and
// so does a store; nothing is copied before or after. Every byte crosses the bus when the kernel
// asks for it, so each should be touched once, in whole sectors. Here that is so, and what `pinned`
// does in three phases is one. What is still wrong: L2 keeps none of it, so whoever reads a byte
// again, later or on another SM, pays again, and the bus is the limit of the kernel.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "common/kit/check.cuh"
#include "common/kit/cpu_timer.hpp"
#include "common/kit/gpu_timer.cuh"
#include "common/kit/host_buffer.hpp"
#include "common/kit/phase.hpp"

namespace vector_add {

__global__ void vector_add_zero_copy_kernel(const float* x, float* y, std::int64_t n) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + y[i];
}

// y[i] = x[i] + y[i] for all i < n, n > 0. Host pointers. The data is put into mapped memory first
// and taken out afterwards, which is not a phase, as in vector_add_pinned.
inline kit::Phases vector_add_zero_copy(const float* h_x, float* h_y, std::int64_t n) {
  const std::size_t bytes = n * sizeof(float);
  int device = 0, can_map = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&can_map, cudaDevAttrCanMapHostMemory, device));
  if (!can_map) throw kit::Skip("this device cannot map host memory");
  kit::CpuTimer cpu_timer;
  kit::GpuTimer gpu_timer;

  float* p_x = nullptr;
  float* p_y = nullptr;
  cpu_timer.start();
  CUDA_CHECK(cudaHostAlloc(&p_x, bytes, cudaHostAllocMapped));
  CUDA_CHECK(cudaHostAlloc(&p_y, bytes, cudaHostAllocMapped));
  const double pin_ms = cpu_timer.elapsed_ms();
  kit::copy_parallel(p_x, h_x, bytes);
  kit::copy_parallel(p_y, h_y, bytes);

  // The same memory by its device address. (On today's systems the two addresses are equal.)
  float* d_x = nullptr;
  float* d_y = nullptr;
  CUDA_CHECK(cudaHostGetDevicePointer(&d_x, p_x, 0));
  CUDA_CHECK(cudaHostGetDevicePointer(&d_y, p_y, 0));
  const int block = 256;
  const std::int64_t grid = (n + block - 1) / block;
  gpu_timer.start();
  vector_add_zero_copy_kernel<<<grid, block>>>(d_x, d_y, n);
  gpu_timer.stop();
  CUDA_CHECK(cudaGetLastError());
  const double kernel_ms = gpu_timer.elapsed_ms();  // waits: only then may the host read p_y

  kit::copy_parallel(h_y, p_y, bytes);
  CUDA_CHECK(cudaFreeHost(p_x));
  CUDA_CHECK(cudaFreeHost(p_y));
  return {{"pin", pin_ms}, {"kernel", kernel_ms, 3 * static_cast<double>(bytes), true}};
}

}  // namespace vector_add
