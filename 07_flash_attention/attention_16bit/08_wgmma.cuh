// wgmma: the tensor cores of Hopper, driven by warpgroups (sm_90a).
//
// wgmma is issued by four warps together and reads K and V from shared memory itself: no ldmatrix,
// and no registers for operands but those of P, which come from the accumulator as before. A block
// has a producer warpgroup and two or three that compute, 64 queries each; setmaxnreg moves the
// producer's registers to where they are needed. What is still wrong: whether one warpgroup
// multiplies while another is at its softmax is left to chance.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "07_flash_attention/kit/accumulators.cuh"
#include "07_flash_attention/kit/attention_tile.cuh"
#include "07_flash_attention/shape.hpp"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/ptx/roles.cuh"
#include "common/kit/ptx/wgmma.cuh"

namespace attention {

template <class T, class Tile, bool kCausal>
__global__ void __launch_bounds__(Tile::kThreads, 1)
    attention_wgmma_kernel(const __grid_constant__ AttentionMaps maps, Tensors<T> t, int n_q,
                           int n_k, float scale) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  // One thread sets up the barriers, before anybody uses them.
  extern __shared__ unsigned char dynamic_shared[];
  auto& shared = kit::aligned_shared<BlockShared<Tile>>(dynamic_shared);
  auto& kv = shared.kv;
  if (threadIdx.x == 0) shared.init();
  __syncthreads();

  // The last tiles of a causal head have the most to do: they start first.
  const int q_tiles = kit::divide_up(n_q, Tile::kTileM);
  const int head = blockIdx.x / q_tiles;
  const int first_query = (q_tiles - 1 - static_cast<int>(blockIdx.x) % q_tiles) * Tile::kTileM;
  const Mask<kCausal, Tile::kTileN> mask{n_q, n_k};
  const int tiles = mask.tiles(first_query, Tile::kTileM);
  auto k_at = kv.begin(), v_at = kv.begin();

  // The producer: one thread has TMA bring everything.
  const int warpgroup = threadIdx.x / 128;
  if (warpgroup == 0) {
    ptx::setmaxnreg_dec<Tile::kProducerRegisters>();
    if (threadIdx.x == 0) {
      shared.issue_q(maps, first_query, head);
      kv.issue(maps, k_at, v_at, head, tiles, [] {});
    }
    return;
  }

  // The consumers: the warps that compute, with rows of their own.
  ptx::setmaxnreg_inc<Tile::kConsumerRegisters>();
  const int own_rows = 64 * (warpgroup - 1);  // of the tile of queries
  const int row = first_query + own_rows + threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4;
  const int unmasked = mask.unmasked_tiles(first_query + own_rows);

  // Registers: O stays, scores and weights are those of a tile of keys.
  OnlineSoftmax rows{scale};
  float o[Tile::kD / 2] = {};
  float s[Tile::kTileN / 2];
  std::uint32_t p[Tile::kTileN / 16][4];

  // region multiply_tile
  const auto multiply_tile = [&](int tile, auto masked) {
    // S = Q K^T; then nobody needs the tile of K any more.
    kv.wait_k(k_at);
    issue_scores<Tile>(s, shared.q + own_rows * 128, kv.k[k_at.stage]);
    ptx::wgmma_wait_group<0>();
    ptx::fence_registers(s);
    kv.release_k(k_at);

    // The weights.
    if constexpr (decltype(masked)::value) mask.apply(s, row, tile);
    float tile_max[2];
    OnlineSoftmax::max_of_rows(s, tile_max);
    if (update_max_if_grown(rows, tile_max)) OnlineSoftmax::rescale(o, rows.correction);
    rows.exponentiate(s);
    rows.template pack<T>(s, p);

    // O += P V.
    kv.wait_v(v_at);
    issue_output<Tile>(o, p, kv.v[v_at.stage], true);
    ptx::wgmma_wait_group<0>();
    ptx::fence_registers(o);
    kv.release_v(v_at);
  };
  // endregion

  shared.wait_q();
  int tile = tiles - 1;
#pragma unroll 1
  for (; tile >= 0 && tile >= unmasked; --tile) multiply_tile(tile, std::true_type{});
#pragma unroll 1
  for (; tile >= 0; --tile) multiply_tile(tile, std::false_type{});

  float factor[2], lse[2];
  rows.finish(factor, lse);
  OnlineSoftmax::rescale(o, factor);
  store_rows<Tile::kD>(t, head, row, n_q, o, lse);
#endif
}

// Device pointers, aligned to 16 bytes; shapes as Shape says. kConsumers: warpgroups that compute;
// with two, a block has the tiles of the next rung, to show what that one's turns alone bring.
template <class T, int kConsumers = 3>
void wgmma(const Shape& shape, const Tensors<T>& t, cudaStream_t stream) {
  const int n_q = static_cast<int>(shape.n_q), n_k = static_cast<int>(shape.n_k);
  with_head_dim(shape.d, shape.causal, [&](auto head_dim, auto causal) {
    // 64 x 256 of O are 128 registers per thread: too many for three warpgroups that compute.
    using Tile =
        std::conditional_t<head_dim == 256, AttentionTile<T, 256, 2, kConsumers == 2 ? 80 : 64, 2>,
                           AttentionTile<T, head_dim, kConsumers, 128, 2>>;
    constexpr int kShared = kit::aligned_shared_bytes<BlockShared<Tile>>();
    const auto kernel = attention_wgmma_kernel<T, Tile, causal>;
    const int blocks = static_cast<int>(shape.all_heads()) * kit::divide_up(n_q, Tile::kTileM);
    kit::allow_shared(kernel, kShared);
    kernel<<<blocks, Tile::kThreads, kShared, stream>>>(tensor_maps<Tile>(shape, t), t, n_q, n_k,
                                                        shape.scale() * kLog2E);
    CUDA_CHECK(cudaGetLastError());
  });
}

}  // namespace attention
