// mma: P^T and dS^T stay in registers, and the next Q and dO travel meanwhile (cp.async).
//
// Now a warp has 16 keys for itself, and all queries of a step. So what it computes of P^T and dS^T
// lies in its registers, rounded to 16 bits, as operand A of dV += P^T dO and dK += dS^T Q wants
// it. Only dQ = dS K needs dS of all warps: it still goes through shared memory. What is still
// wrong: an atomic for every element of dQ, by the warps that multiply; they load, too; and
// mma.sync reaches only a part of what Hopper's tensor cores can do.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/backward/kit/dq_accum.cuh"
#include "07_flash_attention/backward/kit/gradient_tile_copier.cuh"
#include "07_flash_attention/backward/kit/pairs.cuh"
#include "07_flash_attention/backward/kit/row_stats.cuh"
#include "07_flash_attention/backward/shape.hpp"
#include "07_flash_attention/swizzled_tile.cuh"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/ptx/mma.cuh"
#include "common/kit/swizzle.cuh"

namespace backward {

// A warp has 16 keys; where d is 256, two warps share 16 keys and each has half of the columns of
// dK and dV, as all of them would be more registers than a thread can have. For dQ a warp has 32
// queries.
template <int kD>
struct MmaGradientTile {
  static constexpr int kWarps = 8, kThreads = 32 * kWarps;
  static constexpr int kSplit = kD == 256 ? 2 : 1;         // warps that share keys
  static constexpr int kCols = kD / kSplit;                // of dK and dV, a warp's
  static constexpr int kTileN = 16 * kWarps / kSplit;      // of a block
  static constexpr int kTileM = kD == 256 ? 32 : 64;       // of a step
  static constexpr int kDqGroups = kTileM / 32;            // of 32 queries
  static constexpr int kDqCols = kD * kDqGroups / kWarps;  // of dQ, a warp's
  static constexpr int kChunks = kD / 8, kSlab = kChunks;  // of 16 bytes, a row's
};

// Two buffers for what belongs to a step.
template <class Tile>
struct MmaShared {
  uint4 k[Tile::kTileN * Tile::kChunks], v[Tile::kTileN * Tile::kChunks];
  uint4 q[2][Tile::kTileM * Tile::kChunks], d_o[2][Tile::kTileM * Tile::kChunks];
  uint4 ds[Tile::kTileN * Tile::kTileM / 8];  // dS^T: [key][query]
  float lse2[2][Tile::kTileM], delta[2][Tile::kTileM];
};

template <class T, int kD>
__global__ void __launch_bounds__(MmaGradientTile<kD>::kThreads, 1) mma_kernel(Arguments<T> args) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  const auto& shape = args.shape;
  using Tile = MmaGradientTile<kD>;
  constexpr int kTileN = Tile::kTileN, kTileM = Tile::kTileM, kChunks = Tile::kChunks;
  extern __shared__ uint4 dynamic_chunks[];
  auto& shared = *reinterpret_cast<MmaShared<Tile>*>(dynamic_chunks);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int own_key = warp % (Tile::kWarps / Tile::kSplit) * 16;  // the first of this warp's
  const int own_chunk = warp / (Tile::kWarps / Tile::kSplit) * Tile::kCols / 8;

  // A step: a tile of queries of one of the heads that share these keys.
  const TileRange<Tile> steps(shape);
  const int count = steps.count();

  // The block's keys and values come with the first step, and stay.
  const GradientTileCopier<Tile, T> copier{args, steps};
  copier.copy_keys(shared);
  if (count > 0) copier.copy_step(shared, 0);
  ptx::cp_async_commit();
  float dk[Tile::kCols / 2] = {}, dv[Tile::kCols / 2] = {};
  for (int step = 0; step < count; ++step) {
    const int b = step % 2;
    const int first_row = steps.first_row(step);
    ptx::cp_async_wait<0>();
    __syncthreads();  // this step is here, and nobody reads the other buffers or dS any more
    if (step + 1 < count) copier.copy_step(shared, step + 1);
    ptx::cp_async_commit();

    // Keys are rows, queries columns.
    float s[kTileM / 2] = {}, dp[kTileM / 2] = {};
    attention::multiply_transposed<T, kChunks, 1>(&s, shared.k, own_key, shared.q[b], lane);
    attention::multiply_transposed<T, kChunks, 1>(&dp, shared.v, own_key, shared.d_o[b], lane);
    // region operands
    // Weights and gradients of scores; rounded, they are operands of the next products as they lie.
    weigh(s, shared.lse2[b], shape, steps, first_row, steps.first_key + own_key + lane / 4);
    to_score_gradients(dp, s, shared.delta[b]);
    std::uint32_t p[kTileM / 16][4], ds[kTileM / 16][4];
    to_operand<T>(s, p);
    to_operand<T>(dp, ds);

    // dS^T to shared memory, pairs of queries at a time, by one of the warps that share keys.
#pragma unroll
    for (int i = 0; i < kTileM / 4 && own_chunk == 0; ++i) {
      const int key = own_key + lane / 4 + 8 * (i % 2);
      uint4* chunk = &shared.ds[kit::swizzled_chunk<kTileM / 8>(key, i / 2)];
      reinterpret_cast<std::uint32_t*>(chunk)[lane % 4] = ds[i / 4][i % 4];
    }
    attention::multiply_registers<T, kChunks, 1>(&dv, &p, shared.d_o[b], own_chunk, lane);
    attention::multiply_registers<T, kChunks, 1>(&dk, &ds, shared.q[b], own_chunk, lane);
    // endregion
    __syncthreads();  // dS of all keys is there

    // dQ = dS K: 32 queries and kDqCols columns a warp. Transposed, rows of dS^T are its columns.
    const int dq_row = warp % Tile::kDqGroups * 32;
    const int dq_col = warp / Tile::kDqGroups * Tile::kDqCols;
    float dq[2][Tile::kDqCols / 2] = {};
#pragma unroll
    for (int k = 0; k < kTileN; k += 16) {
#pragma unroll
      for (int g = 0; g < 2; ++g) {
        std::uint32_t a[1][4];
        const int key = k + lane / 16 * 8 + lane % 8, chunk = dq_row / 8 + 2 * g + lane / 8 % 2;
        ptx::ldmatrix_x4_trans(a[0], &shared.ds[kit::swizzled_chunk<kTileM / 8>(key, chunk)]);
        attention::multiply_registers<T, kChunks, 1>(&dq[g], &a, shared.k + k * kChunks, dq_col / 8,
                                                     lane);
      }
    }
    const std::int64_t at = steps.head(step) * args.rows.pitch + first_row + dq_row;
#pragma unroll
    for (int i = 0; i < Tile::kDqCols; ++i) {
      const int g = i / (Tile::kDqCols / 2), j = i % (Tile::kDqCols / 2);
      const int row = 16 * g + lane / 4 + 8 * (j / 2 % 2);
      const int col = dq_col + 8 * (j / 4) + 2 * (lane % 4) + j % 2;
      atomicAdd(&args.rows.dq_accum[(at + row) * kD + col], dq[g][j]);
    }
  }

  // The block's rows of dK and dV are complete.
  const std::int64_t keys_at = steps.kv_head * shape.n_k * kD;
  const int key = steps.first_key + own_key + lane / 4;
  store_keys<kD>(args.dk + keys_at, dk, key, shape.n_k, own_chunk * 8, shape.scale());
  store_keys<kD>(args.dv + keys_at, dv, key, shape.n_k, own_chunk * 8, 1);
#endif
}

// Device pointers, aligned to 16 bytes. scratch: row_stats_and_dq_scratch(shape) floats.
template <class T, int kD>
void mma(const Shape& shape, const Tensors<T>& t, float* scratch, cudaStream_t stream) {
  using Tile = MmaGradientTile<kD>;
  constexpr int kShared = sizeof(MmaShared<Tile>);
  const auto kernel = mma_kernel<T, kD>;
  kit::allow_shared(kernel, kShared);
  const Arguments<T> args = prepare(shape, t, scratch, true, stream);
  const auto blocks = shape.all_kv_heads() * TileRange<Tile>::key_tiles(shape);
  kernel<<<static_cast<unsigned>(blocks), Tile::kThreads, kShared, stream>>>(args);
  CUDA_CHECK(cudaGetLastError());
  finish_dq(args, stream);
}

}  // namespace backward
