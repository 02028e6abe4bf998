// sequential_tree: the elements that are added are neighbours too.
//
// Another pairing: thread t adds the element half a tile further on, and the tile halves with each
// step. Lane t reads word t and word t + s, so 32 lanes always meet 32 banks. The price: elements
// that are combined are no neighbours any more, so the operator must be commutative too. (Rounding
// has differed from the loop's since `openmp`.) What is still wrong: half of the threads load one
// element and then never add.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "05_reduction/sum/kit/grid.cuh"
#include "05_reduction/sum/kit/passes.cuh"

namespace reduction {

__global__ void sum_sequential_tree_kernel(const float* x, float* sums, std::int64_t n) {
  __shared__ float tile[kSumBlock];
  const int t = threadIdx.x;
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kSumBlock + t;
  tile[t] = i < n ? x[i] : 0;
  __syncthreads();

  // region tree
  for (int s = kSumBlock / 2; s > 0; s /= 2) {
    if (t < s) tile[t] += tile[t + s];
    __syncthreads();
  }
  // endregion
  if (t == 0) sums[blockIdx.x] = tile[0];
}

// *result = x[0] + ... + x[n - 1], 0 for n = 0. Device pointers; partials as for sum_in_passes.
inline void sum_sequential_tree(const float* x, float* result, std::int64_t n, float* partials,
                                cudaStream_t stream) {
  sum_in_passes(sum_sequential_tree_kernel, kSumBlock, x, result, n, partials, stream);
}

}  // namespace reduction
