// launches: one after the other, as one writes it.
//
// Each launch is a call into the driver that puts a command together and rings the GPU's bell. The
// kernel itself shifts and mixes 4 KB. The GPU is faster than the host can ask, so the queue
// is empty most of the time and the time per kernel is the time per launch. What is still wrong:
// the host says a thousand times what it has said before.
#pragma once

#include <cuda_runtime.h>

#include "06_atomics_streams/kit/xorshift.cuh"
#include "common/kit/check.cuh"

namespace small_kernels {

// One step of the chain.
__global__ void small_kernels_launches_kernel(unsigned* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = atomics_streams::xorshift(x[i]);
}

// Takes the n numbers at x (device pointer) `kernels` steps further.
inline void small_kernels_launches(unsigned* x, int n, int kernels, cudaStream_t stream) {
  const int block = 256;
  for (int k = 0; k < kernels; ++k) {
    small_kernels_launches_kernel<<<(n + block - 1) / block, block, 0, stream>>>(x, n);
  }
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace small_kernels
