// through_shared: tensor cores (mma.sync, sm_80) do all five products; bf16 or fp16.
//
// The steps of `recomputed`, with 64 queries against 64 keys. Of each result a warp has 16 rows and
// half of the columns, as accumulators that are spread over its lanes. All operands are tiles in
// shared memory, P^T and dS^T too: warps write there what they have computed, rounded to 16 bits.
// What is still wrong: P^T and dS^T go out and come back, and a block that loads a tile does not
// multiply.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/backward/kit/dq_accum.cuh"
#include "07_flash_attention/backward/kit/pairs.cuh"
#include "07_flash_attention/backward/kit/row_stats.cuh"
#include "07_flash_attention/backward/shape.hpp"
#include "07_flash_attention/swizzled_tile.cuh"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/ptx/mma.cuh"
#include "common/kit/swizzle.cuh"

namespace backward {

// Shared memory, in chunks of 16 bytes. Where d is 256 it is too much for a second block.
template <int kD>
struct SmallTile {
  static constexpr int kThreads = 256, kBlocks = kD == 256 ? 1 : 2;
  static constexpr int kTileN = 64, kTileM = 64, kCols = kD / 2, kChunks = kD / 8;
  uint4 k[kTileN][kChunks], v[kTileN][kChunks], q[kTileM][kChunks], d_o[kTileM][kChunks];
  uint4 p[kTileN * kTileM / 8], ds[kTileN * kTileM / 8];  // P^T and dS^T: [key][query]
};

template <class T, int kD>
__global__ void __launch_bounds__(SmallTile<kD>::kThreads, SmallTile<kD>::kBlocks)
    through_shared_kernel(Arguments<T> args) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  const auto& shape = args.shape;
  using Tile = SmallTile<kD>;
  constexpr int kChunks = Tile::kChunks;
  extern __shared__ uint4 dynamic_chunks[];
  auto& tile = *reinterpret_cast<Tile*>(dynamic_chunks);
  // Of each result a warp has 16 rows, and one half of the columns, the left or the right one.
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int own_row = warp % 4 * 16, side = warp / 4, own_chunk = side * Tile::kCols / 8;

  const auto load_tile = [](uint4(*to)[kChunks], const T* from, int first, int rows) {
    attention::load_swizzled_tile<kD, 64, Tile::kThreads>(*to, from, 0, first, rows);
  };
  // A step: a tile of queries of one of the heads that share the block's keys.
  const TileRange<Tile> steps(shape);
  const int count = steps.count();
  const int key = steps.first_key + own_row + lane / 4;
  // The block's keys and values stay to the end.
  load_tile(tile.k, args.k + steps.kv_head * shape.n_k * kD, steps.first_key, shape.n_k);
  load_tile(tile.v, args.v + steps.kv_head * shape.n_k * kD, steps.first_key, shape.n_k);

  float dk[Tile::kCols / 2] = {}, dv[Tile::kCols / 2] = {};
  for (int step = 0; step < count; ++step) {
    const std::int64_t head = steps.head(step), first = head * shape.n_q;
    const int first_row = steps.first_row(step);
    load_tile(tile.q, args.q + first * kD, first_row, shape.n_q);
    load_tile(tile.d_o, args.d_o + first * kD, first_row, shape.n_q);
    __syncthreads();

    // S^T = K Q^T and dP^T = V dO^T: keys are rows, queries columns. They become P^T and dS^T.
    float s[16] = {}, dp[16] = {};
    attention::multiply_transposed<T, kChunks, 1>(&s, *tile.k, own_row, tile.q[side * 32], lane);
    attention::multiply_transposed<T, kChunks, 1>(&dp, *tile.v, own_row, tile.d_o[side * 32], lane);
    const std::int64_t row = head * args.rows.pitch + first_row;
    weigh(s, args.rows.lse2 + row + side * 32, shape, steps, first_row + side * 32, key);
    to_score_gradients(dp, s, args.rows.delta + row + side * 32);

    // region put
    // To shared memory, two neighbouring queries of a key at a time.
#pragma unroll
    for (int i = 0; i < 16; i += 2) {
      const int at = kit::swizzled_chunk<8>(own_row + lane / 4 + 8 * (i / 2 % 2), side * 4 + i / 4);
      reinterpret_cast<std::uint32_t*>(&tile.p[at])[lane % 4] = ptx::pack<T>(s[i], s[i + 1]);
      reinterpret_cast<std::uint32_t*>(&tile.ds[at])[lane % 4] = ptx::pack<T>(dp[i], dp[i + 1]);
    }
    __syncthreads();  // P and dS of all pairs are there

    // dV += P^T dO and dK += dS^T Q, 16 queries at a time, and dQ = dS K, 16 keys at a time: there
    // dS is wanted with queries as rows, so ldmatrix transposes it.
    float dq[Tile::kCols / 2] = {};
#pragma unroll
    for (int i = 0; i < 64; i += 16) {
      std::uint32_t a[1][4];
      const int at = kit::swizzled_chunk<8>(own_row + lane % 16, i / 8 + lane / 16);
      ptx::ldmatrix_x4(a[0], &tile.p[at]);
      attention::multiply_registers<T, kChunks, 1>(&dv, &a, tile.d_o[i], own_chunk, lane);
      ptx::ldmatrix_x4(a[0], &tile.ds[at]);
      attention::multiply_registers<T, kChunks, 1>(&dk, &a, tile.q[i], own_chunk, lane);
      const int from_row = i + lane / 16 * 8 + lane % 8, chunk = own_row / 8 + lane / 8 % 2;
      ptx::ldmatrix_x4_trans(a[0], &tile.ds[kit::swizzled_chunk<8>(from_row, chunk)]);
      attention::multiply_registers<T, kChunks, 1>(&dq, &a, tile.k[i], own_chunk, lane);
    }
    // endregion
    float* to = args.rows.dq_accum + (row + own_row + lane / 4) * kD + own_chunk * 8;
#pragma unroll
    for (int i = 0; i < Tile::kCols / 2; ++i) {
      atomicAdd(&to[8 * (i / 2 % 2) * kD + query_of_register(i)], dq[i]);
    }
    __syncthreads();  // the tile may be written again
  }

  // The block's rows of dK and dV are complete.
  const std::int64_t keys_at = steps.kv_head * shape.n_k * kD;
  store_keys<kD>(args.dk + keys_at, dk, key, shape.n_k, own_chunk * 8, shape.scale());
  store_keys<kD>(args.dv + keys_at, dv, key, shape.n_k, own_chunk * 8, 1);
#endif
}

// Device pointers, aligned to 16 bytes. scratch: row_stats_and_dq_scratch(shape) floats.
template <class T, int kD>
void through_shared(const Shape& shape, const Tensors<T>& t, float* scratch, cudaStream_t stream) {
  using Tile = SmallTile<kD>;
  constexpr int kShared = sizeof(Tile);
  const auto kernel = through_shared_kernel<T, kD>;
  kit::allow_shared(kernel, kShared);
  const Arguments<T> args = prepare(shape, t, scratch, true, stream);
  const auto blocks = shape.all_kv_heads() * TileRange<Tile>::key_tiles(shape);
  kernel<<<static_cast<unsigned>(blocks), Tile::kThreads, kShared, stream>>>(args);
  CUDA_CHECK(cudaGetLastError());
  finish_dq(args, stream);
}

}  // namespace backward
