// How a tile of C leaves the registers where C's rows may begin anywhere: a thread's four
// neighbours are no float4 there, so the lanes of a warp change places first, and write 32
// neighbours of a row.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/kit/tile_origin.cuh"
#include "04_matmul/sgemm/kit/thread_tile.cuh"

namespace matmul::sgemm {

// In shared memory, of a warp: 16 rows of its tile. Four floats more make rows start at other
// banks.
template <class T>
constexpr int kStagedPitch = T::kWarpN + 4;
template <class T>
constexpr int kStagedFloats = 16 * kStagedPitch<T>;

// Stores a warp's sums of a tile of C, m x n, as far as they are inside; or adds them, each
// atomically. staging: kStagedFloats of this warp, from a multiple of 16 bytes on.
template <class T>
__device__ inline void store_rows(const float (&acc)[T::kThreadM][T::kThreadN], float* staging,
                                  float* c, TileOrigin tile, int m, int n, bool adds) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int first_row = tile.row + warp / (T::kTileN / T::kWarpN) * T::kWarpM;
  const int first_col = tile.col + warp % (T::kTileN / T::kWarpN) * T::kWarpN + lane;
  // As in ThreadTile: where this lane's fragments are within 16 rows.
  float* const mine = staging + (lane / 16 * 2 + lane % 2) * 4 * kStagedPitch<T> + lane / 2 % 8 * 4;
  // 16 rows of the warp's tile at a time: four of each lane.
#pragma unroll
  for (int r = 0; r < T::kThreadM; r += 4) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
      for (int s = 0; s < T::kThreadN; s += 4) {
        const float* from = &acc[r + i][s];
        *reinterpret_cast<float4*>(mine + i * kStagedPitch<T> + s / 4 * 32) =
            make_float4(from[0], from[1], from[2], from[3]);
      }
    }
    __syncwarp();

    // Row by row, a lane beside the other.
    float* to = c + static_cast<std::int64_t>(first_row + r * 4) * n + first_col;
#pragma unroll 4
    for (int y = 0; y < 16; ++y, to += n) {
#pragma unroll
      for (int x = 0; x < T::kWarpN; x += 32) {
        if (first_row + r * 4 + y >= m || first_col + x >= n) continue;
        const float value = staging[y * kStagedPitch<T> + x + lane];
        if (adds) {
          atomicAdd(to + x, value);
        } else {
          to[x] = value;
        }
      }
    }
    __syncwarp();  // before the next 16 rows take their place
  }
}

}  // namespace matmul::sgemm
