// Rung 13, persistent: as many blocks as SMs; each takes tile after tile of queries.
//
// The producer goes on to the next queries while the others still finish a tile. For that Q's
// buffer must be free early: Q moves to registers (not where d is 256: no room). O leaves by the
// copy engine, while the next tile is computed. A counter hands out the tiles, with a causal mask
// the longest first, so that all SMs end together. What is still wrong: where its queries change, a
// warpgroup runs dry for a moment; with d = 256 it waits for Q there.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "07_flash_attention/attention/hopper_tiles.cuh"
#include "07_flash_attention/attention/launch.cuh"
#include "07_flash_attention/attention/shape.hpp"
#include "07_flash_attention/attention/softmax_rows.cuh"
#include "07_flash_attention/attention/tile_queue.cuh"
#include "common/cuda_check.cuh"

template <class Tile>
struct PersistentShared {
  static constexpr bool kHasRoom = Tile::kD <= 128;  // for O; and registers have room for Q
  unsigned char q[Tile::kQBytes];
  unsigned char o[kHasRoom ? Tile::kQBytes : kTileAlignment];
  KvRings<Tile> kv;
  std::uint64_t q_full, q_empty;
  int tile;  // whose queries are in q; -1: there are no more
};

template <class Tile, bool kCausal>
__global__ void __launch_bounds__(Tile::kThreads, 1)
    attention_persistent_kernel(const __grid_constant__ AttentionMaps maps,
                                Tensors<typename Tile::Element> t, TileOrder order, int* counter,
                                int n_q, int n_k, float scale) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  using T = typename Tile::Element;
  constexpr bool kQInRegisters = PersistentShared<Tile>::kHasRoom;
  extern __shared__ unsigned char dynamic_shared[];
  auto& shared = aligned_shared<PersistentShared<Tile>>(dynamic_shared);
  KvRings<Tile>& kv = shared.kv;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&shared.q_full, 1);
    ptx::mbarrier_init(&shared.q_empty, 4 * Tile::kConsumers);
    start_rings(kv);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();

  RingPlace<Tile::kStages> k_place, v_place;
  RingPlace<1> q_place;
  // How many tiles of keys any of `count` queries from first_query on sees.
  const auto tiles_of = [&](int first_query, int count) {
    const int last_query = min(first_query + count, n_q) - 1;
    return divide_up(visible_keys<kCausal>(last_query, n_q, n_k), Tile::kKeys);
  };

  const int warpgroup = threadIdx.x / 128;
  if (warpgroup == 0) {
    ptx::setmaxnreg_dec<Tile::kProducerRegisters>();
    if (threadIdx.x != 0) return;
    const int count = order.count();
    int tile = blockIdx.x;
    while (tile < count) {
      // Asked for as late as the answer can still come in time: who asks early gets a tile that
      // somebody else could have begun before.
      int next = 0;
      int head, q_tile;
      order.locate<kCausal>(tile, head, q_tile);
      const int first_query = q_tile * Tile::kQueries;
      wait(shared.q_empty, q_place.parity ^ 1);
      shared.tile = tile;
      ptx::mbarrier_arrive_expect_tx(&shared.q_full, Tile::kQBytes);
      ptx::tensor_load(shared.q, &maps.q, 0, first_query, 0, head, &shared.q_full);
      q_place.advance();
      send_keys_and_values(maps, kv, k_place, v_place, head, tiles_of(first_query, Tile::kQueries),
                           [&] { next = static_cast<int>(gridDim.x) + atomicAdd(counter, 1); });
      tile = next;
    }
    wait(shared.q_empty, q_place.parity ^ 1);
    shared.tile = -1;
    ptx::mbarrier_arrive(&shared.q_full);
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
  std::uint32_t q[kQInRegisters ? Tile::kD / 16 : 1][4];
  const auto issue_own_scores = [&] {
    if constexpr (kQInRegisters) {
      issue_scores<Tile>(s, q, kv.k[k_place.stage]);
    } else {
      issue_scores<Tile>(s, shared.q + own_rows * 128, kv.k[k_place.stage]);
    }
  };

  for (;;) {
    wait(shared.q_full, q_place.parity);
    q_place.advance();
    // By the lane that will arrive at q_empty for its warp: after that the producer writes again.
    const int read = threadIdx.x % 32 == 0 ? shared.tile : 0;
    const int tile_of_queries = __shfl_sync(0xffffffffu, read, 0);
    if (tile_of_queries < 0) break;
    int head, q_tile;
    order.locate<kCausal>(tile_of_queries, head, q_tile);
    const int first_query = q_tile * Tile::kQueries;
    const int row = first_query + row_in_tile;
    const int tiles = tiles_of(first_query + own_rows, 64);
    const int unmasked = visible_keys<kCausal>(first_query + own_rows, n_q, n_k) / Tile::kKeys;
    if constexpr (kQInRegisters) {
      load_queries<Tile>(q, shared.q, own_rows);
      release(shared.q_empty);
    }

    const auto weigh = [&](int tile, auto masked) {
      if constexpr (decltype(masked)::value) {
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
    bool accumulate = false;  // o holds the tile of queries before
    const auto multiply_tile = [&](int tile, auto masked) {
      wait(kv.k_full[k_place.stage], k_place.parity);
      take_turn<Tile>(warpgroup);
      issue_own_scores();
      wait(kv.v_full[v_place.stage], v_place.parity);
      issue_output<Tile>(o, p, kv.v[v_place.stage], accumulate);
      pass_turn<Tile>(warpgroup);
      accumulate = true;
      ptx::wgmma_wait_group<1>();
      ptx::fence_registers(s);
      release(kv.k_empty[k_place.stage]);
      k_place.advance();
      const bool raised = weigh(tile, masked);
      ptx::wgmma_wait_group<0>();
      ptx::fence_registers(o);
      release(kv.v_empty[v_place.stage]);
      v_place.advance();
      pack_weights<T>(s, p);
      if (raised) scale_rows(o, rows.factor);
    };

    // The last tile of keys may be there for the other warpgroup alone: hand it back unread. The
    // other one takes a turn for each tile but its first, so this one must take as many.
    if constexpr (kCausal) {
      for (int tile = tiles_of(first_query, Tile::kQueries) - 1; tile >= tiles; --tile) {
        wait(kv.k_full[k_place.stage], k_place.parity);
        release(kv.k_empty[k_place.stage]);
        k_place.advance();
        wait(kv.v_full[v_place.stage], v_place.parity);
        release(kv.v_empty[v_place.stage]);
        v_place.advance();
        if (tile == 0) break;
        take_turn<Tile>(warpgroup);
        pass_turn<Tile>(warpgroup);
      }
    }
    start_rows(rows, scale);
    if (tiles > 0) {
      int tile = tiles - 1;
      wait(kv.k_full[k_place.stage], k_place.parity);
      issue_own_scores();
      ptx::wgmma_wait_group<0>();
      ptx::fence_registers(s);
      release(kv.k_empty[k_place.stage]);
      k_place.advance();
      if (tile >= unmasked) {
        weigh(tile--, std::true_type{});
      } else {
        weigh(tile--, std::false_type{});
      }
      pack_weights<T>(s, p);
#pragma unroll 1
      for (; tile >= 0 && tile >= unmasked; --tile) multiply_tile(tile, std::true_type{});
#pragma unroll 1
      for (; tile >= 0; --tile) multiply_tile(tile, std::false_type{});
      if constexpr (!kQInRegisters) release(shared.q_empty);
      wait(kv.v_full[v_place.stage], v_place.parity);
      issue_output<Tile>(o, p, kv.v[v_place.stage], accumulate);
      ptx::wgmma_wait_group<0>();
      ptx::fence_registers(o);
      release(kv.v_empty[v_place.stage]);
      v_place.advance();
    } else {
#pragma unroll
      for (int i = 0; i < Tile::kD / 2; ++i) o[i] = 0;
      if constexpr (!kQInRegisters) release(shared.q_empty);
    }

    float factor[2], lse[2];
    finish_rows(rows, factor, lse);
    scale_rows(o, factor);
    if constexpr (PersistentShared<Tile>::kHasRoom) {
      store_lse(t, head, row, n_q, lse);
      send_output<Tile>(maps, shared.o + (warpgroup - 1) * 64 * Tile::kD * 2, o, warpgroup, head,
                        first_query + own_rows, n_q);
    } else {
      store_rows<Tile::kD>(t, head, row, n_q, o, lse);
    }
  }
  if (threadIdx.x % 128 == 0) ptx::bulk_wait_group<0>();  // shared memory is read until then
  if (warpgroup == 1) take_turn<Tile>(warpgroup);         // nobody leaves with a turn unclaimed
#endif
}

template <class Tile, bool kCausal>
void launch_persistent(const AttentionShape& shape, const Tensors<typename Tile::Element>& t,
                       cudaStream_t stream) {
  constexpr int kShared = shared_bytes<PersistentShared<Tile>>();
  const auto kernel = attention_persistent_kernel<Tile, kCausal>;
  allow_shared(kernel, kShared);
  const TileOrder order = TileOrder::of(shape, Tile::kQueries);
  kernel<<<std::min(common::multiprocessor_count(), order.count()), Tile::kThreads, kShared,
           stream>>>(attention_maps<Tile>(shape, t), t, order, next_tile_counter(),
                     static_cast<int>(shape.n_q), static_cast<int>(shape.n_k),
                     shape.scale() * kLog2E);
  CUDA_CHECK(cudaGetLastError());
}

// Device pointers, aligned to 16 bytes; shapes as AttentionShape says.
template <class T>
void attention_persistent(const AttentionShape& shape, const Tensors<T>& t, cudaStream_t stream) {
  with_head_dim(shape.d, shape.causal, [&](auto head_dim, auto causal) {
    using Tile = HopperTile<T, head_dim, 2, head_dim == 256 ? 80 : 128, head_dim == 64 ? 3 : 2>;
    // 80 keys are what fits with d = 256. 64 cost more synchronisation, but less is computed beyond
    // the diagonal, and of a short sequence the diagonal is a large part.
    if constexpr (causal && head_dim == 256) {
      if (shape.n_k <= 2048) {
        return launch_persistent<HopperTile<T, 256, 2, 64, 2>, true>(shape, t, stream);
      }
    }
    launch_persistent<Tile, causal>(shape, t, stream);
  });
}
