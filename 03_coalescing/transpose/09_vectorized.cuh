// Rung 9, vectorized: 16 bytes per access on all four ways, and tiles of 64 x 64.
//
// A thread loads a block of 4 x 4 floats as four float4, transposes it in its registers, and puts
// four float4 into shared memory; from there float4 go out. The unit of the swizzle is now a
// float4: group q of tile row c lies at q XOR (c / 4 % 8). A quarter of the instructions, 64 bytes
// a thread in flight, pieces of 256 bytes on both sides. What is left: the order of the blocks; and
// sizes that are not multiples of 4, whose rows float4 cannot take: they are refused.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "03_coalescing/transpose/kit/tiles.cuh"
#include "03_coalescing/transpose/kit/vector_tile.cuh"
#include "common/kit/check.cuh"

namespace transpose {

template <int kTile>
__global__ void __launch_bounds__(kTile* kTile / 16)
    transpose_vectorized_kernel(const float* __restrict__ in, float* __restrict__ out,
                                std::int64_t rows, std::int64_t cols) {
  transpose_tile_of_vectors<kTile>(in, out, rows, cols, tile_along_row(cols, kTile, kTile));
}

// out[c][r] = in[r][c], in: rows x cols. Device pointers, row-major, dense.
inline void transpose_vectorized(const float* in, float* out, std::int64_t rows, std::int64_t cols,
                                 cudaStream_t stream) {
  require_aligned_rows(in, out, rows, cols);
  constexpr int kTile = 64;
  const std::int64_t grid = tile_count(rows, cols, kTile, kTile);
  transpose_vectorized_kernel<kTile><<<grid, kTile * kTile / 16, 0, stream>>>(in, out, rows, cols);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace transpose
