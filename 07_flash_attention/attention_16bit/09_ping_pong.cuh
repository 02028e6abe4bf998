// ping_pong: warpgroups take turns at the tensor cores.
//
// Left alone, all multiply for a part of the time, and for another part none does. Now a warpgroup
// issues two products together (the scores of a tile and O += P V of the tile before) and passes
// the turn on, by a named barrier; during its exponentials the other one multiplies. Two
// warpgroups, with 240 registers per thread, are enough for that. What is still wrong: each waits
// for O before it begins its exponentials, although they need only the scores.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "07_flash_attention/kit/accumulators.cuh"
#include "07_flash_attention/kit/attention_tile.cuh"
#include "07_flash_attention/shape.hpp"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/pipeline.cuh"
#include "common/kit/ptx/roles.cuh"
#include "common/kit/ptx/wgmma.cuh"

namespace attention {

template <class T, class Tile, bool kCausal>
__global__ void __launch_bounds__(Tile::kThreads, 1)
    attention_ping_pong_kernel(const __grid_constant__ AttentionMaps maps, Tensors<T> t, int n_q,
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

  const kit::Turn<Tile::kConsumers> turn{warpgroup};

  // Registers: O stays, scores and weights are those of a tile of keys.
  OnlineSoftmax rows{scale};
  float o[Tile::kD / 2] = {};
  float s[Tile::kTileN / 2];
  std::uint32_t p[Tile::kTileN / 16][4];

  // Makes weights of the scores of `tile`. True: O must be rescaled.
  const auto weigh = [&](int tile, auto masked) {
    if constexpr (decltype(masked)::value) mask.apply(s, row, tile);
    float tile_max[2];
    OnlineSoftmax::max_of_rows(s, tile_max);
    const bool grown = update_max_if_grown(rows, tile_max);
    rows.exponentiate(s);
    return grown;
  };
  // region multiply_tile
  // Begins with the weights of the tile before in p, ends with those of `tile`.
  const auto multiply_tile = [&](int tile, auto masked) {
    // Both products are issued in one turn.
    kv.wait_k(k_at);
    kv.wait_v(v_at);
    turn.wait();
    issue_scores<Tile>(s, shared.q + own_rows * 128, kv.k[k_at.stage]);
    issue_output<Tile>(o, p, kv.v[v_at.stage], true);
    turn.pass_on();

    // Then the weights, while the other warpgroup multiplies.
    ptx::wgmma_wait_group<0>();
    ptx::fence_registers(s);
    ptx::fence_registers(o);
    kv.release_k(k_at);
    kv.release_v(v_at);
    const bool grown = weigh(tile, masked);
    rows.template pack<T>(s, p);
    if (grown) OnlineSoftmax::rescale(o, rows.correction);
  };
  // endregion

  // The first scores have no P V of a tile before to go with, and the last P V no scores.
  shared.wait_q();
  if (warpgroup == Tile::kConsumers) turn.pass_on();  // the first one begins
  if (tiles > 0) {
    int tile = tiles - 1;
    kv.wait_k(k_at);
    issue_scores<Tile>(s, shared.q + own_rows * 128, kv.k[k_at.stage]);
    ptx::wgmma_wait_group<0>();
    ptx::fence_registers(s);
    kv.release_k(k_at);
    weigh(tile--, std::true_type{});
    rows.template pack<T>(s, p);
#pragma unroll 1
    for (; tile >= 0 && tile >= unmasked; --tile) multiply_tile(tile, std::true_type{});
#pragma unroll 1
    for (; tile >= 0; --tile) multiply_tile(tile, std::false_type{});
    kv.wait_v(v_at);
    issue_output<Tile>(o, p, kv.v[v_at.stage], true);
    ptx::wgmma_wait_group<0>();
    ptx::fence_registers(o);
  }
  if (warpgroup == 1) turn.wait();  // nobody leaves with a turn unclaimed

  float factor[2], lse[2];
  rows.finish(factor, lse);
  OnlineSoftmax::rescale(o, factor);
  store_rows<Tile::kD>(t, head, row, n_q, o, lse);
#endif
}

// Device pointers, aligned to 16 bytes; shapes as Shape says.
template <class T>
void ping_pong(const Shape& shape, const Tensors<T>& t, cudaStream_t stream) {
  const int n_q = static_cast<int>(shape.n_q), n_k = static_cast<int>(shape.n_k);
  with_head_dim(shape.d, shape.causal, [&](auto head_dim, auto causal) {
    using Tile = AttentionTile<T, head_dim, 2, head_dim == 256 ? 80 : 128, 2>;
    constexpr int kShared = kit::aligned_shared_bytes<BlockShared<Tile>>();
    const auto kernel = attention_ping_pong_kernel<T, Tile, causal>;
    const int blocks = static_cast<int>(shape.all_heads()) * kit::divide_up(n_q, Tile::kTileM);
    kit::allow_shared(kernel, kShared);
    kernel<<<blocks, Tile::kThreads, kShared, stream>>>(tensor_maps<Tile>(shape, t), t, n_q, n_k,
                                                        shape.scale() * kLog2E);
    CUDA_CHECK(cudaGetLastError());
  });
}

}  // namespace attention
