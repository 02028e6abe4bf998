// contiguous: every thread takes 16 maps that follow each other, every block 256 such runs.
//
// What decides about order is who combines with whom: only neighbours may, and the left one comes
// first. So threads take runs instead of every n-th element, and the tree is that of
// `conflicting_tree`, which joins neighbouring stretches. The blocks' results, in the order of the
// blocks, are maps again: the kernel runs over them until one is left. What is still wrong: the
// lanes of a warp read 128 bytes apart, 32 sectors per request instead of 8.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "05_reduction/affine/kit/affine_map.cuh"
#include "05_reduction/affine/kit/passes.cuh"

namespace affine {

__global__ void affine_contiguous_kernel(const AffineMap* maps, AffineMap* results,
                                         std::int64_t n) {
  __shared__ AffineMap runs[kAffineBlock];
  const int t = threadIdx.x;
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x) * kAffineTile + t * kAffineRun;
  AffineMap own = identity_map();
  for (int k = 0; k < kAffineRun; ++k) {
    if (begin + k < n) own = then(own, maps[begin + k]);
  }
  runs[t] = own;
  __syncthreads();

  // runs[first] stands for the s threads from `first` on, runs[first + s] for the s after those.
  for (int s = 1; s < kAffineBlock; s *= 2) {
    const int first = 2 * s * t;
    if (first < kAffineBlock) runs[first] = then(runs[first], runs[first + s]);
    __syncthreads();
  }
  if (t == 0) results[blockIdx.x] = runs[0];
}

// *result = maps[0], then ... maps[n - 1]; the identity for n = 0. Device pointers.
inline void affine_contiguous(const AffineMap* maps, AffineMap* result, std::int64_t n,
                              AffineMap* partials, cudaStream_t stream) {
  affine_in_passes(affine_contiguous_kernel, maps, result, n, partials, stream);
}

}  // namespace affine
