// unified_prefetch: managed memory, with the driver told in advance.
//
// Two calls are new. Advice: x and y prefer to live on the device. Prefetch: move these pages now,
// in one go, instead of page by page when the kernel trips over them. The kernel then runs as if
// the memory were plain device memory; the move has its own line in the table, like the copies of
// `cuda`.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "01_vector_add/kit/managed.cuh"
#include "common/kit/check.cuh"
#include "common/kit/cpu_timer.hpp"
#include "common/kit/host_buffer.hpp"
#include "common/kit/phase.hpp"
#include "common/kit/toolkit.cuh"

namespace vector_add {

__global__ void vector_add_unified_prefetch_kernel(const float* x, float* y, std::int64_t n) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + y[i];
}

// y[i] = x[i] + y[i] for all i < n, n > 0. Host pointers, as in vector_add_unified.
inline kit::Phases vector_add_unified_prefetch(const float* h_x, float* h_y, std::int64_t n) {
  const std::size_t bytes = n * sizeof(float);
  require_managed(bytes);
  int device = 0, concurrent = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&concurrent, cudaDevAttrConcurrentManagedAccess, device));
  if (!concurrent) throw kit::Skip("this device or system cannot prefetch managed memory");
  kit::CpuTimer timer;

  float* x = nullptr;
  float* y = nullptr;
  timer.start();
  CUDA_CHECK(cudaMallocManaged(&x, bytes));
  CUDA_CHECK(cudaMallocManaged(&y, bytes));
  const double allocate_ms = timer.elapsed_ms();

  timer.start();
  kit::copy_parallel(x, h_x, bytes);
  kit::copy_parallel(y, h_y, bytes);
  const double produce_ms = timer.elapsed_ms();

  timer.start();
  // region move
  const kit::ManagedPlace place = kit::on_device(device);
  for (float* p : {x, y}) {
    CUDA_CHECK(cudaMemAdvise(p, bytes, cudaMemAdviseSetPreferredLocation, place));
    CUDA_CHECK(kit::prefetch(p, bytes, place));
  }
  CUDA_CHECK(cudaDeviceSynchronize());
  // endregion
  const double prefetch_ms = timer.elapsed_ms();

  const int block = 256;
  const std::int64_t grid = (n + block - 1) / block;
  timer.start();
  vector_add_unified_prefetch_kernel<<<grid, block>>>(x, y, n);
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaDeviceSynchronize());
  const double kernel_ms = timer.elapsed_ms();

  timer.start();
  CUDA_CHECK(kit::prefetch(y, bytes, kit::on_host()));
  CUDA_CHECK(cudaDeviceSynchronize());
  const double back_ms = timer.elapsed_ms();

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
          {"prefetch", prefetch_ms, 2 * array},
          {"kernel", kernel_ms, 3 * array, true},
          {"prefetch back", back_ms, array},
          {"host reads", use_ms, array},
          {"free", free_ms}};
}

}  // namespace vector_add
