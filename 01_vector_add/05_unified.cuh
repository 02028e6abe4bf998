// unified: one pointer that both sides may follow.
//
// cudaMallocManaged returns memory whose pages move to whoever touches them. No copies are written
// down, but they happen: threads that touch a page which is still on the host (a page fault) stop
// until it has arrived. Compare this kernel's time with that of `cuda`. Next: tell the driver
// beforehand.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "01_vector_add/kit/managed.cuh"
#include "common/kit/check.cuh"
#include "common/kit/cpu_timer.hpp"
#include "common/kit/host_buffer.hpp"
#include "common/kit/phase.hpp"

namespace vector_add {

__global__ void vector_add_unified_kernel(const float* x, float* y, std::int64_t n) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + y[i];
}

// y[i] = x[i] + y[i] for all i < n, n > 0. Host pointers, copied into and out of managed memory by
// the host: those two phases stand for the host producing and using the data.
inline kit::Phases vector_add_unified(const float* h_x, float* h_y, std::int64_t n) {
  const std::size_t bytes = n * sizeof(float);
  require_managed(bytes);
  kit::CpuTimer timer;

  float* x = nullptr;
  float* y = nullptr;
  timer.start();
  // region managed
  CUDA_CHECK(cudaMallocManaged(&x, bytes));
  CUDA_CHECK(cudaMallocManaged(&y, bytes));
  // endregion
  const double allocate_ms = timer.elapsed_ms();

  timer.start();
  kit::copy_parallel(x, h_x, bytes);
  kit::copy_parallel(y, h_y, bytes);
  const double produce_ms = timer.elapsed_ms();

  const int block = 256;
  const std::int64_t grid = (n + block - 1) / block;
  timer.start();
  vector_add_unified_kernel<<<grid, block>>>(x, y, n);
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaDeviceSynchronize());  // no cudaMemcpy here that would wait for the kernel
  const double kernel_ms = timer.elapsed_ms();

  timer.start();
  kit::copy_parallel(h_y, y, bytes);
  const double use_ms = timer.elapsed_ms();

  timer.start();
  CUDA_CHECK(cudaFree(x));
  CUDA_CHECK(cudaFree(y));
  const double free_ms = timer.elapsed_ms();
  const double array = static_cast<double>(bytes);
  return {{"allocate", allocate_ms},
          {"host writes", produce_ms, 2 * array},
          {"kernel", kernel_ms, 3 * array, true},
          {"host reads", use_ms, array},
          {"free", free_ms}};
}

}  // namespace vector_add
