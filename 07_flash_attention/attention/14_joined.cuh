// Rung 14, joined: no gap where the queries change.
//
// The last P V of a tile of queries and the first scores of the next one are issued together, like
// any other pair: weights of the new tile are computed while the last P V of the old one runs, and
// O is stored after that. So every round is the same, and a warpgroup never has only one product in
// flight. It needs the next queries before the last ones are done: Q has two buffers and stays in
// shared memory, which leaves enough registers for a third warpgroup where d is 64. There this is
// the fastest rung; with d = 128 the one before is, whose inner loop is the smaller one. (With
// d = 256 two buffers do not fit: the rung before serves.)
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "07_flash_attention/attention/13_persistent.cuh"
#include "07_flash_attention/attention/hopper_tiles.cuh"
#include "07_flash_attention/attention/launch.cuh"
#include "07_flash_attention/attention/shape.hpp"
#include "07_flash_attention/attention/softmax_rows.cuh"
#include "07_flash_attention/attention/tile_queue.cuh"
#include "common/cuda_check.cuh"

template <class Tile>
struct JoinedShared {
  unsigned char q[2][Tile::kQBytes];
  KvRings<Tile> kv;
  std::uint64_t q_full[2], q_empty[2];
  int tile[2];  // whose queries are in q; -1: there are no more
};

template <class Tile, bool kCausal>
__global__ void __launch_bounds__(Tile::kThreads, 1)
    attention_bf16_joined_kernel(const __grid_constant__ AttentionMaps maps,
                                 Tensors<__nv_bfloat16> t, TileOrder order, int* counter, int n_q,
                                 int n_k, float scale) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ unsigned char dynamic_shared[];
  auto& shared = aligned_shared<JoinedShared<Tile>>(dynamic_shared);
  KvRings<Tile>& kv = shared.kv;
  if (threadIdx.x == 0) {
    for (int i = 0; i < 2; ++i) {
      ptx::mbarrier_init(&shared.q_full[i], 1);
      ptx::mbarrier_init(&shared.q_empty[i], 4 * Tile::kConsumers);
    }
    start_rings(kv);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();

  RingPlace<Tile::kStages> k_place, v_place;
  RingPlace<2> q_place;
  // Of the tile of queries that begins at first_query, how many tiles of keys anybody sees.
  const auto tiles_of = [&](int first_query) {
    const int last_query = min(first_query + Tile::kQueries, n_q) - 1;
    return divide_up(visible_keys<kCausal>(last_query, n_q, n_k), Tile::kKeys);
  };

  const int warpgroup = threadIdx.x / 128;
  if (warpgroup == 0) {
    ptx::setmaxnreg_dec<Tile::kProducerRegisters>();
    if (threadIdx.x != 0) return;
    const int count = order.heads * order.q_tiles;
    int tile = blockIdx.x;
    while (tile < count) {
      const int next = static_cast<int>(gridDim.x) + atomicAdd(counter, 1);
      int head, q_tile;
      order.locate<kCausal>(tile, head, q_tile);
      const int first_query = q_tile * Tile::kQueries;
      const int i = q_place.stage;
      wait(shared.q_empty[i], q_place.parity ^ 1);
      shared.tile[i] = tile;
      ptx::mbarrier_arrive_expect_tx(&shared.q_full[i], Tile::kQBytes);
      ptx::tensor_load(shared.q[i], &maps.q, 0, first_query, 0, head, &shared.q_full[i]);
      q_place.advance();
      send_keys_and_values(maps, kv, k_place, v_place, head, tiles_of(first_query));
      tile = next;
    }
    wait(shared.q_empty[q_place.stage], q_place.parity ^ 1);
    shared.tile[q_place.stage] = -1;
    ptx::mbarrier_arrive(&shared.q_full[q_place.stage]);
    leave_queue(counter);
    return;
  }
  ptx::setmaxnreg_inc<Tile::kConsumerRegisters>();
  const int own_rows = 64 * (warpgroup - 1);  // of the tile of queries
  const int row_in_tile = own_rows + threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4;
  if (warpgroup == Tile::kConsumers) pass_turn<Tile>(warpgroup);  // the first one begins

  SoftmaxRows rows;
  float o[Tile::kD / 2];
  float s[Tile::kKeys / 2];
  std::uint32_t p[Tile::kKeys / 16][4];

  // The tile of queries at work.
  int head = 0, first_query = 0, tiles = 0, unmasked = 0;
  const unsigned char* q = nullptr;
  // Moves on to the next tile of queries that sees any keys; false if there is none. Those that see
  // none are dealt with here. q_place is then the place after it.
  const auto next_queries = [&] {
    for (;; q_place.advance()) {
      const int i = q_place.stage;
      wait(shared.q_full[i], q_place.parity);
      const int tile_of_queries = shared.tile[i];
      if (tile_of_queries < 0) return false;
      int q_tile;
      order.locate<kCausal>(tile_of_queries, head, q_tile);
      first_query = q_tile * Tile::kQueries;
      tiles = tiles_of(first_query);
      unmasked = visible_keys<kCausal>(first_query + own_rows, n_q, n_k) / Tile::kKeys;
      q = shared.q[i] + own_rows * 128;
      if (!kCausal || tiles > 0) {
        q_place.advance();
        return true;
      }
      store_nothing<Tile::kD>(t, head, first_query + row_in_tile, n_q);
      __syncwarp();  // all lanes have read shared.tile
      release(shared.q_empty[i]);
    }
  };
  const auto weigh = [&](int tile, auto masked) {
    if constexpr (decltype(masked)::value) {
      const int row = first_query + row_in_tile;
      const int visible[2] = {visible_keys<kCausal>(row, n_q, n_k) - tile * Tile::kKeys,
                              visible_keys<kCausal>(row + 8, n_q, n_k) - tile * Tile::kKeys};
      mask_scores(s, visible);
    }
    float largest[2];
    largest_scores(s, largest);
    const bool raised = raise_largest(rows, largest);
    weigh_scores(s, rows);
    return raised;
  };
  const auto store = [&](SoftmaxRows& of, int of_head, int of_first_query) {
    float factor[2], lse[2];
    finish_rows(of, factor, lse);
    scale_rows(o, factor);
    store_rows<Tile::kD>(t, of_head, of_first_query + row_in_tile, n_q, o, lse);
  };
  bool accumulate = false;  // o holds something of another tile of queries
  const auto issue_own_output = [&] {
    wait(kv.v_full[v_place.stage], v_place.parity);
    issue_output<Tile>(o, p, kv.v[v_place.stage], accumulate);
  };
  const auto finish_output = [&] {
    ptx::wgmma_wait_group<0>();
    ptx::fence_registers(o);
    release(kv.v_empty[v_place.stage]);
    v_place.advance();
  };
  const auto finish_scores = [&] {
    ptx::fence_registers(s);
    release(kv.k_empty[k_place.stage]);
    k_place.advance();
  };
  // One round: the scores of `tile` and the output of the tile before, which, if the queries have
  // just changed, belongs to the old ones, whose state `old` is.
  SoftmaxRows old;
  int old_head = 0, old_first_query = 0;
  const auto multiply_tile = [&](int tile, auto masked, auto changed) {
    constexpr bool kChanged = decltype(changed)::value;
    wait(kv.k_full[k_place.stage], k_place.parity);
    take_turn<Tile>(warpgroup);
    issue_scores<Tile>(s, q, kv.k[k_place.stage]);
    issue_own_output();
    pass_turn<Tile>(warpgroup);
    ptx::wgmma_wait_group<1>();
    finish_scores();
    if constexpr (kChanged) start_rows(rows, scale);
    const bool raised = weigh(tile, masked);
    finish_output();
    if constexpr (kChanged) store(old, old_head, old_first_query);
    pack_weights(s, p);
    if (!kChanged && raised) scale_rows(o, rows.factor);
    accumulate = !kChanged;
  };

  if (next_queries()) {
    wait(kv.k_full[k_place.stage], k_place.parity);
    issue_scores<Tile>(s, q, kv.k[k_place.stage]);
    ptx::wgmma_wait_group<0>();
    finish_scores();
    start_rows(rows, scale);
    weigh(tiles - 1, std::true_type{});
    pack_weights(s, p);
    for (;;) {
      int tile = tiles - 2;
#pragma unroll 1
      for (; tile >= 0 && tile >= unmasked; --tile) {
        multiply_tile(tile, std::true_type{}, std::false_type{});
      }
#pragma unroll 1
      for (; tile >= 0; --tile) multiply_tile(tile, std::false_type{}, std::false_type{});
      release(shared.q_empty[q_place.stage ^ 1]);
      old = rows;
      old_head = head;
      old_first_query = first_query;
      if (!next_queries()) break;
      multiply_tile(tiles - 1, std::true_type{}, std::true_type{});
    }
    issue_own_output();
    finish_output();
    store(old, old_head, old_first_query);
  }
  if (warpgroup == 1) take_turn<Tile>(warpgroup);  // nobody leaves with a turn unclaimed
#endif
}

// Device pointers, aligned to 16 bytes; shapes as AttentionShape says.
inline void attention_joined(const AttentionShape& shape, const Tensors<__nv_bfloat16>& t,
                             cudaStream_t stream) {
  const auto launch = [&](auto tile, auto causal) {
    using Tile = decltype(tile);
    constexpr int kShared = shared_bytes<JoinedShared<Tile>>();
    const auto kernel = attention_bf16_joined_kernel<Tile, decltype(causal)::value>;
    allow_shared(kernel, kShared);
    static const int most = multiprocessors();
    const TileOrder order = TileOrder::of(shape, Tile::kQueries);
    kernel<<<std::min(most, order.count()), Tile::kThreads, kShared, stream>>>(
        attention_maps<Tile>(shape, t), t, order, next_tile_counter(), static_cast<int>(shape.n_q),
        static_cast<int>(shape.n_k), shape.scale() * kLog2E);
    CUDA_CHECK(cudaGetLastError());
  };
  with_head_dim(shape.d, shape.causal, [&](auto head_dim, auto causal) {
    if constexpr (head_dim == 256) {
      attention_persistent(shape, t, stream);
    } else {
      using Tile = HopperTile<head_dim, head_dim == 64 ? 3 : 2, 128, 2>;
      launch(Tile(), causal);
    }
  });
}
