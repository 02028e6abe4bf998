// pinned: host memory that stays where it is, so that the copies get faster.
//
// The operating system may move or swap ordinary ("pageable") memory at any time, so the driver
// first copies it into a buffer that it has pinned, and sends that. Memory allocated with
// cudaMallocHost is pinned itself: the copy engine reads it directly. The kernel is the one of
// `cuda`. Pinning costs time and takes memory from everybody else: pin what is copied often.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "common/kit/check.cuh"
#include "common/kit/cpu_timer.hpp"
#include "common/kit/device_buffer.cuh"
#include "common/kit/gpu_timer.cuh"
#include "common/kit/host_buffer.hpp"
#include "common/kit/phase.hpp"

namespace vector_add {

__global__ void vector_add_pinned_kernel(const float* x, float* y, std::int64_t n) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + y[i];
}

// y[i] = x[i] + y[i] for all i < n, n > 0. Host pointers. The data is put into pinned memory first
// and taken out afterwards, which is not a phase: a program that pins has its data there all along.
// Nor is allocating on the device one: `cuda` shows what that takes.
inline kit::Phases vector_add_pinned(const float* h_x, float* h_y, std::int64_t n) {
  const std::size_t bytes = n * sizeof(float);
  kit::CpuTimer cpu_timer;
  kit::GpuTimer gpu_timer;

  float* p_x = nullptr;
  float* p_y = nullptr;
  cpu_timer.start();
  // region pin
  CUDA_CHECK(cudaMallocHost(&p_x, bytes));
  CUDA_CHECK(cudaMallocHost(&p_y, bytes));
  // endregion
  const double pin_ms = cpu_timer.elapsed_ms();
  kit::copy_parallel(p_x, h_x, bytes);
  kit::copy_parallel(p_y, h_y, bytes);

  const kit::DeviceBuffer<float> d_x(n), d_y(n);
  gpu_timer.start();
  CUDA_CHECK(cudaMemcpy(d_x.data(), p_x, bytes, cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaMemcpy(d_y.data(), p_y, bytes, cudaMemcpyHostToDevice));
  gpu_timer.stop();
  const double in_ms = gpu_timer.elapsed_ms();

  const int block = 256;
  const std::int64_t grid = (n + block - 1) / block;
  gpu_timer.start();
  vector_add_pinned_kernel<<<grid, block>>>(d_x.data(), d_y.data(), n);
  gpu_timer.stop();
  CUDA_CHECK(cudaGetLastError());
  const double kernel_ms = gpu_timer.elapsed_ms();

  gpu_timer.start();
  CUDA_CHECK(cudaMemcpy(p_y, d_y.data(), bytes, cudaMemcpyDeviceToHost));
  gpu_timer.stop();
  const double out_ms = gpu_timer.elapsed_ms();

  kit::copy_parallel(h_y, p_y, bytes);
  CUDA_CHECK(cudaFreeHost(p_x));
  CUDA_CHECK(cudaFreeHost(p_y));
  const double array = static_cast<double>(bytes);
  return {{"pin", pin_ms},
          {"copy in", in_ms, 2 * array},
          {"kernel", kernel_ms, 3 * array, true},
          {"copy out", out_ms, array}};
}

}  // namespace vector_add
