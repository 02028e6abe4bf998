// Rung 10, wgmma: warps with different jobs (Hopper, sm_90a).
//
// A block has a producer warpgroup, of which one thread orders tiles from the copy engine (TMA),
// and two or three that compute, 64 queries each. Barriers in shared memory say which buffers are
// full and which are empty: nobody waits for all others. wgmma reads K and V from shared memory
// itself, and setmaxnreg moves the producer's registers to where they are needed. What is still
// wrong: whether one warpgroup multiplies while another is at its softmax is left to chance.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "07_flash_attention/attention/hopper_tiles.cuh"
#include "07_flash_attention/attention/launch.cuh"
#include "07_flash_attention/attention/shape.hpp"
#include "07_flash_attention/attention/softmax_rows.cuh"
#include "common/cuda_check.cuh"

template <class Tile, bool kCausal>
__global__ void __launch_bounds__(Tile::kThreads, 1)
    attention_wgmma_kernel(const __grid_constant__ AttentionMaps maps,
                           Tensors<typename Tile::Element> t, int n_q, int n_k, float scale) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  using T = typename Tile::Element;
  extern __shared__ unsigned char dynamic_shared[];
  auto& shared = aligned_shared<BlockShared<Tile>>(dynamic_shared);
  KvRings<Tile>& kv = shared.kv;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&shared.q_full, 1);
    start_rings(kv);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();

  const int q_tiles = divide_up(n_q, Tile::kQueries);
  const int head = blockIdx.x / q_tiles;
  // The last tiles of a causal head have the most to do: they start first.
  const int first_query = (q_tiles - 1 - static_cast<int>(blockIdx.x) % q_tiles) * Tile::kQueries;
  const int last_query = min(first_query + Tile::kQueries, n_q) - 1;
  const int tiles = divide_up(visible_keys<kCausal>(last_query, n_q, n_k), Tile::kKeys);
  RingPlace<Tile::kStages> k_place, v_place;

  const int warpgroup = threadIdx.x / 128;
  if (warpgroup == 0) {
    ptx::setmaxnreg_dec<Tile::kProducerRegisters>();
    if (threadIdx.x == 0) {
      ptx::mbarrier_arrive_expect_tx(&shared.q_full, Tile::kQBytes);
      ptx::tensor_load(shared.q, &maps.q, 0, first_query, 0, head, &shared.q_full);
      send_keys_and_values(maps, kv, k_place, v_place, head, tiles);
    }
    return;
  }
  ptx::setmaxnreg_inc<Tile::kConsumerRegisters>();
  const int own_rows = 64 * (warpgroup - 1);  // of the tile of queries
  const int row = first_query + own_rows + threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4;
  const int unmasked = visible_keys<kCausal>(first_query + own_rows, n_q, n_k) / Tile::kKeys;

  SoftmaxRows rows;
  start_rows(rows, scale);
  float o[Tile::kD / 2] = {};
  float s[Tile::kKeys / 2];
  std::uint32_t p[Tile::kKeys / 16][4];

  const auto multiply_tile = [&](int tile, auto masked) {
    wait(kv.k_full[k_place.stage], k_place.parity);
    issue_scores<Tile>(s, shared.q + own_rows * 128, kv.k[k_place.stage]);
    ptx::wgmma_wait_group<0>();
    ptx::fence_registers(s);
    release(kv.k_empty[k_place.stage]);
    k_place.advance();

    if constexpr (decltype(masked)::value) {
      const int visible[2] = {visible_keys<kCausal>(row, n_q, n_k) - tile * Tile::kKeys,
                              visible_keys<kCausal>(row + 8, n_q, n_k) - tile * Tile::kKeys};
      mask_scores(s, visible);
    }
    float largest[2];
    largest_scores(s, largest);
    if (raise_largest(rows, largest)) scale_rows(o, rows.factor);
    weigh_scores(s, rows);
    pack_weights<T>(s, p);

    wait(kv.v_full[v_place.stage], v_place.parity);
    issue_output<Tile>(o, p, kv.v[v_place.stage], true);
    ptx::wgmma_wait_group<0>();
    ptx::fence_registers(o);
    release(kv.v_empty[v_place.stage]);
    v_place.advance();
  };

  wait(shared.q_full, 0);
  int tile = tiles - 1;
#pragma unroll 1
  for (; tile >= 0 && tile >= unmasked; --tile) multiply_tile(tile, std::true_type{});
#pragma unroll 1
  for (; tile >= 0; --tile) multiply_tile(tile, std::false_type{});

  float factor[2], lse[2];
  finish_rows(rows, factor, lse);
  scale_rows(o, factor);
  store_rows<Tile::kD>(t, head, row, n_q, o, lse);
#endif
}

// Device pointers, aligned to 16 bytes; shapes as AttentionShape says.
template <class T>
void attention_wgmma(const AttentionShape& shape, const Tensors<T>& t, cudaStream_t stream) {
  const int n_q = static_cast<int>(shape.n_q), n_k = static_cast<int>(shape.n_k);
  with_head_dim(shape.d, shape.causal, [&](auto head_dim, auto causal) {
    // 64 x 256 of O are 128 registers a thread: too many for three warpgroups to compute.
    using Tile = std::conditional_t<head_dim == 256, HopperTile<T, 256, 2, 64, 2>,
                                    HopperTile<T, head_dim, 3, 128, 2>>;
    constexpr int kShared = shared_bytes<BlockShared<Tile>>();
    const auto kernel = attention_wgmma_kernel<Tile, causal>;
    const int blocks = static_cast<int>(shape.all_heads()) * divide_up(n_q, Tile::kQueries);
    allow_shared(kernel, kShared);
    kernel<<<blocks, Tile::kThreads, kShared, stream>>>(attention_maps<Tile>(shape, t), t, n_q, n_k,
                                                        shape.scale() * kLog2E);
    CUDA_CHECK(cudaGetLastError());
  });
}
