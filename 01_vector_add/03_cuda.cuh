// cuda: the whole life of a GPU computation, in the open.
//
// The loop is gone: n threads are started, and each works out which element is its own. Around the
// kernel stands what every CUDA program does in some form: allocate on the device, copy in, launch,
// copy out, free. Each part is timed on its own. What is still wrong: the copies take two hundred
// times as long as the kernel. The next three rungs are about them.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "common/kit/check.cuh"
#include "common/kit/cpu_timer.hpp"
#include "common/kit/gpu_timer.cuh"
#include "common/kit/phase.hpp"

namespace vector_add {

__global__ void vector_add_cuda_kernel(const float* x, float* y, std::int64_t n) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + y[i];  // the last block has threads to spare
}

// y[i] = x[i] + y[i] for all i < n, n > 0. Host pointers (h_); the device has its own (d_).
inline kit::Phases vector_add_cuda(const float* h_x, float* h_y, std::int64_t n) {
  const std::size_t bytes = n * sizeof(float);
  kit::CpuTimer cpu_timer;
  kit::GpuTimer gpu_timer;

  // 1. Memory on the device. The host may hold these pointers, but not follow them.
  float* d_x = nullptr;
  float* d_y = nullptr;
  cpu_timer.start();
  CUDA_CHECK(cudaMalloc(&d_x, bytes));
  CUDA_CHECK(cudaMalloc(&d_y, bytes));
  const double allocate_ms = cpu_timer.elapsed_ms();

  // 2. Both operands travel to the device.
  gpu_timer.start();
  CUDA_CHECK(cudaMemcpy(d_x, h_x, bytes, cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaMemcpy(d_y, h_y, bytes, cudaMemcpyHostToDevice));
  gpu_timer.stop();
  const double in_ms = gpu_timer.elapsed_ms();

  // 3. Enough blocks of 256 threads to cover n: the division rounds up.
  const int block = 256;
  const std::int64_t grid = (n + block - 1) / block;
  gpu_timer.start();
  vector_add_cuda_kernel<<<grid, block>>>(d_x, d_y, n);
  gpu_timer.stop();
  CUDA_CHECK(cudaGetLastError());  // a launch returns nothing: ask whether it was accepted
  const double kernel_ms = gpu_timer.elapsed_ms();

  // 4. The result travels back. cudaMemcpy waits for the kernel.
  gpu_timer.start();
  CUDA_CHECK(cudaMemcpy(h_y, d_y, bytes, cudaMemcpyDeviceToHost));
  gpu_timer.stop();
  const double out_ms = gpu_timer.elapsed_ms();

  // 5. What was allocated is freed.
  cpu_timer.start();
  CUDA_CHECK(cudaFree(d_x));
  CUDA_CHECK(cudaFree(d_y));
  const double free_ms = cpu_timer.elapsed_ms();

  const double array = static_cast<double>(bytes);
  return {{"allocate", allocate_ms},
          {"copy in", in_ms, 2 * array},
          {"kernel", kernel_ms, 3 * array, true},
          {"copy out", out_ms, array},
          {"free", free_ms}};
}

}  // namespace vector_add
