// Rung 10, async_copy: the next tiles travel while the present ones are multiplied.
//
// There are two buffers of either tile. cp.async (sm_80) copies from global to shared memory in the
// background, past the registers: a thread orders its part of the next tiles, multiplies the
// present ones, and then waits for the copy to land. One barrier a step is enough. A is ordered
// float by float, each to its place in the turned tile: no alignment is needed, the lanes read
// whole sectors, and rows padded by 4 floats spread their stores over all banks. What is still
// wrong: multiplications still wait for the loads from shared memory just before them.
#pragma once

#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/sgemm/09_warp_tile.cuh"
#include "04_matmul/sgemm/tiles.cuh"
#include "common/cuda_check.cuh"

// Orders a copy of kBytes (4 or 16) to shared memory. If not `inside`, `from` is left alone and
// zeros are stored.
template <int kBytes>
__device__ inline void order_copy(float* to, const float* from, bool inside) {
  if (inside) {
    __pipeline_memcpy_async(to, from, kBytes);
  } else if constexpr (kBytes == 16) {
    *reinterpret_cast<float4*>(to) = make_float4(0, 0, 0, 0);
  } else {
    *to = 0;
  }
}

// The same for the four elements (row, col .. col + 3) of a rows x cols matrix.
template <bool kVectors>
__device__ inline void order_four(float* to, const float* x, int row, int col, int rows, int cols) {
  const float* from = x + static_cast<std::int64_t>(row) * cols + col;
  if constexpr (kVectors) {
    order_copy<16>(to, from, row < rows && col < cols);
  } else {
#pragma unroll
    for (int i = 0; i < 4; ++i) order_copy<4>(to + i, from + i, row < rows && col + i < cols);
  }
}

template <int kTile, int kDepth, int kRegs, bool kVectors>
__global__ void __launch_bounds__(kTile* kTile / (kRegs * kRegs))
    sgemm_async_copy_kernel(const float* a, const float* b, float* c, int m, int n, int k) {
  constexpr int kThreads = kTile * kTile / (kRegs * kRegs);
  static_assert(kTile * kDepth == 4 * kThreads, "each thread orders four elements of either tile");
  __shared__ alignas(16) float tile_a[2][kDepth][kTile + 4], tile_b[2][kDepth][kTile];
  const TileOrigin tile = tile_of_block<kTile, kTile>(n);
  const int t = threadIdx.x;
  const int b_row = t / (kTile / 4), b_col = t % (kTile / 4) * 4;
  const int warp = t / 32, lane = t % 32;
  const int y = warp / (kTile / kWarpCols) * kWarpRows + lane / 4 * 4;
  const int x = warp % (kTile / kWarpCols) * kWarpCols + lane % 4 * 4;

  const auto order_tiles = [&](int buffer, int p) {
#pragma unroll
    for (int i = t; i < kTile * kDepth; i += kThreads) {
      const int row = tile.row + i / kDepth, col = p + i % kDepth;
      order_copy<4>(&tile_a[buffer][i % kDepth][i / kDepth],
                    a + static_cast<std::int64_t>(row) * k + col, row < m && col < k);
    }
    order_four<kVectors>(&tile_b[buffer][b_row][b_col], b, p + b_row, tile.col + b_col, k, n);
    __pipeline_commit();
  };

  float sum[kRegs][kRegs] = {};
  order_tiles(0, 0);
  for (int p = 0, buffer = 0; p < k; p += kDepth, buffer ^= 1) {
    __pipeline_wait_prior(0);  // this thread's part of the tiles has landed,
    __syncthreads();           // everybody's has, and nobody reads the other buffer any more
    if (p + kDepth < k) order_tiles(buffer ^ 1, p + kDepth);
#pragma unroll
    for (int q = 0; q < kDepth; ++q) {
      float from_a[kRegs], from_b[kRegs];
#pragma unroll
      for (int r = 0; r < kRegs; r += 4) {
        load_four(&from_a[r], &tile_a[buffer][q][y + piece_row(r)]);
      }
#pragma unroll
      for (int s = 0; s < kRegs; s += 4) {
        load_four(&from_b[s], &tile_b[buffer][q][x + piece_col(s)]);
      }
#pragma unroll
      for (int r = 0; r < kRegs; ++r) {
#pragma unroll
        for (int s = 0; s < kRegs; ++s) sum[r][s] += from_a[r] * from_b[s];
      }
    }
  }
#pragma unroll
  for (int r = 0; r < kRegs; ++r) {
#pragma unroll
    for (int s = 0; s < kRegs; s += 4) {
      store_four<kVectors>(c, tile.row + y + piece_row(r), tile.col + x + piece_col(s), m, n,
                           &sum[r][s]);
    }
  }
}

// C = A B; A is m x k, B is k x n, C is m x n, all row-major. Device pointers; sizes up to 2e9.
inline void sgemm_async_copy(const float* a, const float* b, float* c, int m, int n, int k,
                             cudaStream_t stream) {
  constexpr int kTile = 128, kDepth = 8, kRegs = 8;
  const auto launch = [&](auto kernel) {
    kernel<<<tiles_of<kTile, kTile>(m, n), kTile * kTile / (kRegs * kRegs), 0, stream>>>(a, b, c, m,
                                                                                         n, k);
    CUDA_CHECK(cudaGetLastError());
  };
  with_vectors(a, k, b, c, n, [&](auto, auto vectors) {
    launch(sgemm_async_copy_kernel<kTile, kDepth, kRegs, vectors>);
  });
}
