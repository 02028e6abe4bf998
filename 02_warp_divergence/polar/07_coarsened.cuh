// coarsened: each thread asks for several angles before it computes the first.
//
// The angles of a thread lie a block apart, so that each load and store of a warp stays coalesced.
// More bytes are in flight at a time, and fewer blocks have to be started. With that there is room
// for arithmetic: the warps that compute do it while others wait for memory, so the accurate
// sincosf costs no more time than __sincosf. Next: nothing; a kernel that only copies is no faster.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/kit/check.cuh"

namespace polar {

struct Accurate {
  __device__ static float2 point(float angle) {
    float2 point;
    sincosf(angle, &point.y, &point.x);
    return point;
  }
};

constexpr int kCoarsenedBlock = 256;

// The block's part of the work: kPieces angles for each of its kCoarsenedBlock threads.
template <class Math, int kPieces>
__device__ inline void coarsened_points(const float* phi, float2* z, std::int64_t n) {
  constexpr int kTile = kCoarsenedBlock * kPieces;
  const std::int64_t tile = static_cast<std::int64_t>(blockIdx.x) * kTile;
  const std::int64_t first = tile + threadIdx.x;

  if (tile + kTile <= n) {
    float angle[kPieces];  // in registers: after unrolling every index is a constant
#pragma unroll
    for (int p = 0; p < kPieces; ++p) angle[p] = phi[first + p * kCoarsenedBlock];
#pragma unroll
    for (int p = 0; p < kPieces; ++p) z[first + p * kCoarsenedBlock] = Math::point(angle[p]);
  } else {
    for (std::int64_t i = first; i < n; i += kCoarsenedBlock) z[i] = Math::point(phi[i]);
  }
}

constexpr int kAnglesPerThread = 4;

__global__ void __launch_bounds__(kCoarsenedBlock)
    polar_coarsened_kernel(const float* phi, float2* z, std::int64_t n) {
  coarsened_points<Accurate, kAnglesPerThread>(phi, z, n);
}

// Blocks that cover n with `pieces` elements per thread.
inline std::int64_t coarsened_grid(std::int64_t n, int pieces) {
  const std::int64_t tile = static_cast<std::int64_t>(kCoarsenedBlock) * pieces;
  return (n + tile - 1) / tile;
}

// z[i] = (cos(phi[i]), sin(phi[i])) for all i < n, n > 0. Device pointers, radians; z is aligned to
// 8 bytes.
inline void polar_coarsened(const float* phi, float2* z, std::int64_t n, cudaStream_t stream) {
  const std::int64_t grid = coarsened_grid(n, kAnglesPerThread);
  polar_coarsened_kernel<<<grid, kCoarsenedBlock, 0, stream>>>(phi, z, n);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace polar
