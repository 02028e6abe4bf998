// ordered_shuffle: lanes read neighbours again, and shuffles keep the order.
//
// A warp takes the stretch of 512 maps that its threads had as runs, row by row: 32 maps that
// follow each other. Within a row, __shfl_down with 1, 2, 4, ... joins neighbouring stretches, the
// left one first; the rows follow each other in lane 0. The butterfly of `shuffle_xor` would not
// do: half of its lanes have the left stretch in the other lane. A tree of shuffles for each row,
// where a block had one tree for all its maps, is more instructions. But a request now asks for 8
// sectors instead of 32, and that is worth more.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "05_reduction/affine/kit/affine_map.cuh"
#include "05_reduction/affine/kit/passes.cuh"
#include "05_reduction/kit/all_lanes.cuh"

namespace affine {

// The maps of all lanes, in the order of the lanes; right in lane 0. All 32 lanes must call it.
__device__ inline AffineMap ordered_warp_reduce(AffineMap own) {
  for (int s = 1; s < 32; s *= 2) {
    // Lane l has s maps from l on, and receives the s maps from l + s on. In the upper lanes, which
    // have no such partner, it is nonsense, but nothing of it reaches lane 0.
    const AffineMap next = {__shfl_down_sync(reduction::kAllLanes, own.a, s),
                            __shfl_down_sync(reduction::kAllLanes, own.b, s)};
    own = then(own, next);
  }
  return own;
}

__global__ void affine_ordered_shuffle_kernel(const AffineMap* maps, AffineMap* results,
                                              std::int64_t n) {
  constexpr int kWarps = kAffineBlock / 32;
  __shared__ AffineMap of_warps[kWarps];
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const std::int64_t begin =
      static_cast<std::int64_t>(blockIdx.x) * kAffineTile + warp * 32 * kAffineRun + lane;

  AffineMap rows[kAffineRun];
#pragma unroll
  for (int r = 0; r < kAffineRun; ++r) {
    const std::int64_t i = begin + 32 * r;
    rows[r] = i < n ? maps[i] : identity_map();
  }
  AffineMap own = identity_map();
#pragma unroll
  for (int r = 0; r < kAffineRun; ++r) own = then(own, ordered_warp_reduce(rows[r]));
  if (lane == 0) of_warps[warp] = own;
  __syncthreads();

  if (warp == 0) {
    own = ordered_warp_reduce(lane < kWarps ? of_warps[lane] : identity_map());
    if (lane == 0) results[blockIdx.x] = own;
  }
}

// *result = maps[0], then ... maps[n - 1]; the identity for n = 0. Device pointers.
inline void affine_ordered_shuffle(const AffineMap* maps, AffineMap* result, std::int64_t n,
                                   AffineMap* partials, cudaStream_t stream) {
  affine_in_passes(affine_ordered_shuffle_kernel, maps, result, n, partials, stream);
}

}  // namespace affine
