// born_on_device: the input is made where it is used, so nothing has to travel.
//
// The kernel that adds is the same as before. A second kernel, new here, fills x and y first; each
// thread computes its own random numbers from its index. Writing 8 bytes per element at the
// device's bandwidth replaces sending them over the much slower link to the host. Next: the kernel
// itself.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/kit/check.cuh"
#include "common/kit/device_buffer.cuh"
#include "common/kit/gpu_timer.cuh"
#include "common/kit/phase.hpp"
#include "common/kit/random.cuh"

namespace vector_add {

__global__ void vector_add_born_on_device_kernel(float* x, float* y, std::int64_t n,
                                                 std::uint64_t x_seed, std::uint64_t y_seed) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) {
    x[i] = kit::random_float(x_seed, i);
    y[i] = kit::random_float(y_seed, i);
  }
}

__global__ void vector_add_on_device_kernel(const float* x, float* y, std::int64_t n) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + y[i];
}

// h_y[i] = x[i] + y[i] for all i < n, n > 0, where x and y are the random arrays of the two seeds
// and exist on the device only. The copy to the host pointer h_y serves the check and is not a
// phase: whoever makes data on the device usually goes on using it there.
inline kit::Phases vector_add_born_on_device(float* h_y, std::int64_t n, std::uint64_t x_seed,
                                             std::uint64_t y_seed) {
  const kit::DeviceBuffer<float> d_x(n), d_y(n);
  kit::GpuTimer timer;
  const int block = 256;
  const std::int64_t grid = (n + block - 1) / block;

  timer.start();
  vector_add_born_on_device_kernel<<<grid, block>>>(d_x.data(), d_y.data(), n, x_seed, y_seed);
  timer.stop();
  CUDA_CHECK(cudaGetLastError());
  const double fill_ms = timer.elapsed_ms();

  timer.start();
  vector_add_on_device_kernel<<<grid, block>>>(d_x.data(), d_y.data(), n);
  timer.stop();
  CUDA_CHECK(cudaGetLastError());
  const double kernel_ms = timer.elapsed_ms();

  CUDA_CHECK(cudaMemcpy(h_y, d_y.data(), d_y.bytes(), cudaMemcpyDeviceToHost));
  const double array = static_cast<double>(d_y.bytes());
  return {{"fill", fill_ms, 2 * array, true}, {"kernel", kernel_ms, 3 * array, true}};
}

}  // namespace vector_add
