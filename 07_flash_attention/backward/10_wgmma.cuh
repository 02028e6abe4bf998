// wgmma: the other three products by wgmma, too (sm_90a).
//
// P^T and dS^T are operand A from registers, as before, and B is a tile of dO or Q as it lies. For
// dQ = dS K both operands come from shared memory: dS^T lies there with one key per row, and wgmma
// takes such a tile as it lies, so nothing is transposed. No operand passes through registers
// twice: ldmatrix is gone. What is still wrong: all warps load, wait and multiply in step, and so
// the tensor cores wait, too.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/backward/kit/dq_accum.cuh"
#include "07_flash_attention/backward/kit/gradient_tile.cuh"
#include "07_flash_attention/backward/kit/gradient_tile_copier.cuh"
#include "07_flash_attention/backward/kit/pairs.cuh"
#include "07_flash_attention/backward/kit/row_stats.cuh"
#include "07_flash_attention/backward/shape.hpp"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/ptx/mma.cuh"
#include "common/kit/ptx/tma.cuh"
#include "common/kit/ptx/wgmma.cuh"

namespace backward {

// Two buffers for what belongs to a step.
template <class Tile>
struct WgmmaShared {
  unsigned char k[Tile::kKeyBytes], v[Tile::kKeyBytes];
  unsigned char q[2][Tile::kQueryBytes], d_o[2][Tile::kQueryBytes];
  unsigned char ds[Tile::kDsBytes];
  float lse2[2][Tile::kTileM], delta[2][Tile::kTileM];
};

template <class Tile>
__global__ void __launch_bounds__(Tile::kThreads, 1)
    wgmma_kernel(Arguments<typename Tile::Element> args) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  const auto& shape = args.shape;
  using T = typename Tile::Element;
  constexpr int kD = Tile::kD, kTileM = Tile::kTileM;
  extern __shared__ unsigned char dynamic_shared[];
  auto& shared = kit::aligned_shared<WgmmaShared<Tile>>(dynamic_shared);
  const Warpgroup<Tile> own{};
  const TileRange<Tile> steps(shape);
  const int key = steps.first_key + own.first_key() + own.row(), count = steps.count();

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
    // Weights and gradients of scores; rounded, they are operands of the next products.
    weigh(s, shared.lse2[b], shape, steps, first_row, key);
    to_score_gradients(dp, s, shared.delta[b]);
    std::uint32_t p[kTileM / 16][4], ds[kTileM / 16][4];
    to_operand<T>(s, p);
    to_operand<T>(dp, ds);

    // dS of all keys must lie in shared memory before anybody multiplies it with K.
    own.store_ds(shared.ds, ds);
    own.issue_gradient(dv, p, shared.d_o[b]);
    own.issue_gradient(dk, ds, shared.q[b]);
    ptx::fence_proxy_async();
    __syncthreads();
    float dq[Tile::kDqCols / 2];
    own.issue_dq(dq, shared.ds, shared.k);
    ptx::wgmma_wait_group<0>();
    ptx::fence_registers(dv);
    ptx::fence_registers(dk);
    ptx::fence_registers(dq);

    // Registers of dq lie as those of s do, with queries as rows.
    const int row = own.dq_row() + own.row();
    const std::int64_t to = steps.head(step) * args.rows.pitch + first_row + row;
#pragma unroll
    for (int i = 0; i < Tile::kDqCols / 2; ++i) {
      atomicAdd(&args.rows.dq_accum[(to + 8 * (i / 2 % 2)) * kD + own.dq_col(i)], dq[i]);
    }
  }
  // The block's rows of dK and dV are complete.
  const std::int64_t keys_at = steps.kv_head * shape.n_k * kD;
  own.store(args.dk + keys_at, dk, key, shape.n_k, shape.scale());
  own.store(args.dv + keys_at, dv, key, shape.n_k, 1);
#endif
}

// Device pointers, aligned to 16 bytes. scratch: row_stats_and_dq_scratch(shape) floats.
template <class T, int kD>
void wgmma(const Shape& shape, const Tensors<T>& t, float* scratch, cudaStream_t stream) {
  using Tile = GradientTile<T, kD>;
  constexpr int kShared = kit::aligned_shared_bytes<WgmmaShared<Tile>>();
  const auto kernel = wgmma_kernel<Tile>;
  kit::allow_shared(kernel, kShared);
  const Arguments<T> args = prepare(shape, t, scratch, true, stream);
  const auto blocks = shape.all_kv_heads() * TileRange<Tile>::key_tiles(shape);
  kernel<<<static_cast<unsigned>(blocks), Tile::kThreads, kShared, stream>>>(args);
  CUDA_CHECK(cudaGetLastError());
  finish_dq(args, stream);
}

}  // namespace backward
