// --demo barrier: __syncthreads in a branch that not all threads of a block take.
//
// Both kernels turn each block's part of an array around, through shared memory, and the last part
// is short. The rule: every thread of the block reaches the same __syncthreads, or none does.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

#include "common/kit/check.cuh"
#include "common/kit/device_buffer.cuh"

namespace warp_divergence {

constexpr int kBarrierBlock = 64;

// Wrong: what happens is undefined. On one GPU it may seem to work, on another it hangs or lets
// threads read too early, so it is never launched on one here. On the CPU the tests launch it, and
// see it reported.
__global__ void reverse_with_barrier_in_branch_kernel(const int* in, int* out, int n) {
  __shared__ int tile[kBarrierBlock];
  const int begin = blockIdx.x * kBarrierBlock;
  const int length = min(kBarrierBlock, n - begin);
  const int t = threadIdx.x;
  if (t < length) {
    tile[t] = in[begin + t];
    __syncthreads();  // threads past the end never come here
    out[begin + t] = tile[length - 1 - t];
  }
}

// Right: the branch is split in two, and the barrier stands between them, on everybody's way.
__global__ void reverse_kernel(const int* in, int* out, int n) {
  __shared__ int tile[kBarrierBlock];
  const int begin = blockIdx.x * kBarrierBlock;
  const int length = min(kBarrierBlock, n - begin);
  const int t = threadIdx.x;
  if (t < length) tile[t] = in[begin + t];
  __syncthreads();
  if (t < length) out[begin + t] = tile[length - 1 - t];
}

// The values, each block's part turned around by `kernel`.
template <class Kernel>
std::vector<int> reversed_in_blocks(const std::vector<int>& values, Kernel kernel) {
  const int n = static_cast<int>(values.size());
  const kit::DeviceBuffer<int> d_in(n), d_out(n);
  CUDA_CHECK(cudaMemcpy(d_in.data(), values.data(), d_in.bytes(), cudaMemcpyHostToDevice));
  const int grid = (n + kBarrierBlock - 1) / kBarrierBlock;
  kernel<<<grid, kBarrierBlock>>>(d_in.data(), d_out.data(), n);
  CUDA_CHECK(cudaGetLastError());
  std::vector<int> out(n);
  CUDA_CHECK(cudaMemcpy(out.data(), d_out.data(), d_out.bytes(), cudaMemcpyDeviceToHost));
  return out;
}

inline void barrier_demo() {
  std::vector<int> values(100);
  for (int i = 0; i < 100; ++i) values[i] = i;
  const std::vector<int> out = reversed_in_blocks(values, reverse_kernel);
  std::printf("0 .. 99 in parts of %d, each turned around by a block of %d threads:\n",
              kBarrierBlock, kBarrierBlock);
  std::printf("first part  %d %d %d ... %d\n", out[0], out[1], out[2], out[63]);
  std::printf("last part   %d %d %d ... %d   (36 numbers, and still 64 threads at the barrier)\n",
              out[64], out[65], out[66], out[99]);
}

}  // namespace warp_divergence
