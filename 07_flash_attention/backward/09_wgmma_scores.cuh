// wgmma_scores: S^T and dP^T by wgmma, which reads both operands from shared memory
// (sm_90a).
//
// In `mma` each warp fetches fragments of all queries for its 16 keys, by ldmatrix. wgmma takes 64
// rows at a time, and reads K and Q itself: a descriptor says where a tile lies. The block's eight
// warps are two warpgroups with 64 keys each, and a warp's accumulators lie as those of mma.sync
// do. So all that follows is as before, and only tiles lie in slabs of 128 bytes per row. What is
// still wrong: operands of the other three products still pass through registers.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/backward/kit/dq_accum.cuh"
#include "07_flash_attention/backward/kit/gradient_tile.cuh"
#include "07_flash_attention/backward/kit/gradient_tile_copier.cuh"
#include "07_flash_attention/backward/kit/pairs.cuh"
#include "07_flash_attention/backward/kit/row_stats.cuh"
#include "07_flash_attention/backward/shape.hpp"
#include "07_flash_attention/swizzled_tile.cuh"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/ptx/mma.cuh"
#include "common/kit/ptx/tma.cuh"
#include "common/kit/ptx/wgmma.cuh"

namespace backward {

// Two buffers for what belongs to a step.
template <class Tile>
struct WgmmaScoresShared {
  unsigned char k[Tile::kKeyBytes], v[Tile::kKeyBytes];
  unsigned char q[2][Tile::kQueryBytes], d_o[2][Tile::kQueryBytes];
  unsigned char ds[Tile::kDsBytes];
  float lse2[2][Tile::kTileM], delta[2][Tile::kTileM];
};

template <class Tile>
__global__ void __launch_bounds__(Tile::kThreads, 1)
    wgmma_scores_kernel(Arguments<typename Tile::Element> args) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  const auto& shape = args.shape;
  using T = typename Tile::Element;
  constexpr int kD = Tile::kD, kTileM = Tile::kTileM;
  constexpr int kDqGroups = kTileM / 32, kDqCols = kD * kDqGroups / 8;  // of dQ, a warp's
  extern __shared__ unsigned char dynamic_shared[];
  auto& shared = kit::aligned_shared<WgmmaScoresShared<Tile>>(dynamic_shared);
  const Warpgroup<Tile> own{};
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int own_key = own.first_key() + warp % 4 * 16;  // the first of this warp's
  const int own_col = Tile::own_col(own.index());

  // region slabs
  // c += A B by mma.sync, A from registers. B: columns from `col` on of a tile whose slabs are
  // `bytes` apart.
  const auto multiply_slabs = [lane](auto& c, const auto& a, const unsigned char* b, int bytes,
                                     int col) {
    constexpr int kCols = 2 * sizeof(c) / sizeof(float), kRun = kCols < 64 ? kCols : 64;
#pragma unroll
    for (int i = 0; i < kCols; i += kRun) {
      const auto* slab = reinterpret_cast<const uint4*>(b + (col + i) / 64 * bytes);
      auto& part = reinterpret_cast<float(&)[kRun / 2]>(c[i / 2]);
      attention::multiply_registers<T, 8, 1>(&part, &a, slab, (col + i) % 64 / 8, lane);
    }
  };
  // endregion

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
    ptx::fence_proxy_async();  // wgmma shall see what cp.async wrote
    __syncthreads();  // this step is here, and nobody reads the other buffers or dS any more
    if (step + 1 < count) copier.copy_step(shared, step + 1);
    ptx::cp_async_commit();

    // Keys are rows, queries columns.
    float s[kTileM / 2], dp[kTileM / 2];
    own.issue_transposed(s, shared.k, shared.q[b]);
    own.issue_transposed(dp, shared.v, shared.d_o[b]);
    ptx::wgmma_wait_group<0>();
    ptx::fence_registers(s);
    ptx::fence_registers(dp);
    // Weights and gradients of scores; rounded, they are operands of the next products as they lie.
    weigh(s, shared.lse2[b], shape, steps, first_row, steps.first_key + own_key + lane / 4);
    to_score_gradients(dp, s, shared.delta[b]);
    std::uint32_t p[kTileM / 16][4], ds[kTileM / 16][4];
    to_operand<T>(s, p);
    to_operand<T>(dp, ds);

    // dS of all keys must lie in shared memory before anybody multiplies it with K.
    own.store_ds(shared.ds, ds);
    multiply_slabs(dv, p, shared.d_o[b], Tile::kQuerySlab, own_col);
    multiply_slabs(dk, ds, shared.q[b], Tile::kQuerySlab, own_col);
    __syncthreads();  // dS of all keys is there

    // dQ = dS K: 32 queries and kDqCols columns a warp. Transposed, rows of dS^T are its columns.
    const int dq_row = warp % kDqGroups * 32, dq_col = warp / kDqGroups * kDqCols;
    float dq[2][kDqCols / 2] = {};
#pragma unroll
    for (int k = 0; k < Tile::kTileN; k += 16) {
#pragma unroll
      for (int g = 0; g < 2; ++g) {
        std::uint32_t a[1][4];
        const int key = k + lane / 16 * 8 + lane % 8, chunk = dq_row / 8 + 2 * g + lane / 8 % 2;
        const unsigned char* slab = shared.ds + chunk / 8 * Tile::kKeySlab;
        ptx::ldmatrix_x4_trans(a[0], slab + ptx::swizzled_128B(key, chunk % 8));
        multiply_slabs(dq[g], a, shared.k + k * 128, Tile::kKeySlab, dq_col);
      }
    }
    const std::int64_t at = steps.head(step) * args.rows.pitch + first_row + dq_row;
#pragma unroll
    for (int i = 0; i < kDqCols; ++i) {
      const int g = i / (kDqCols / 2), j = i % (kDqCols / 2);
      const int row = 16 * g + lane / 4 + 8 * (j / 2 % 2);
      const int col = dq_col + 8 * (j / 4) + 2 * (lane % 4) + j % 2;
      atomicAdd(&args.rows.dq_accum[(at + row) * kD + col], dq[g][j]);
    }
  }

  // The block's rows of dK and dV are complete.
  const std::int64_t keys_at = steps.kv_head * shape.n_k * kD;
  const int key = steps.first_key + own_key + lane / 4;
  store_keys<kD>(args.dk + keys_at, dk, key, shape.n_k, own_col, shape.scale());
  store_keys<kD>(args.dv + keys_at, dv, key, shape.n_k, own_col, 1);
#endif
}

// Device pointers, aligned to 16 bytes. scratch: row_stats_and_dq_scratch(shape) floats.
template <class T, int kD>
void wgmma_scores(const Shape& shape, const Tensors<T>& t, float* scratch, cudaStream_t stream) {
  using Tile = GradientTile<T, kD>;
  constexpr int kShared = kit::aligned_shared_bytes<WgmmaScoresShared<Tile>>();
  const auto kernel = wgmma_scores_kernel<Tile>;
  kit::allow_shared(kernel, kShared);
  const Arguments<T> args = prepare(shape, t, scratch, true, stream);
  const auto blocks = shape.all_kv_heads() * TileRange<Tile>::key_tiles(shape);
  kernel<<<static_cast<unsigned>(blocks), Tile::kThreads, kShared, stream>>>(args);
  CUDA_CHECK(cudaGetLastError());
  finish_dq(args, stream);
}

}  // namespace backward
