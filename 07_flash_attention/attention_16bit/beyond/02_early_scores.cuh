// early_scores: the next queries have their first scores computed beside the last product with V. A
// step from longest_first.
//
// Where its queries changed, a warpgroup had nothing for the tensor cores: it waited for the last
// product with V, divided, stored, waited for the next queries, and then for their first scores.
// Now the next queries are taken before the last product with V, and their first scores are asked
// for together with it. What a row needs at its end is computed meanwhile, in fewer instructions.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "07_flash_attention/kit/accumulators.cuh"
#include "07_flash_attention/kit/attention_tile.cuh"
#include "07_flash_attention/kit/early_scores.cuh"
#include "07_flash_attention/kit/persistent_shared.cuh"
#include "07_flash_attention/kit/tile_scheduler.cuh"
#include "07_flash_attention/shape.hpp"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/pipeline.cuh"
#include "common/kit/ptx/roles.cuh"
#include "common/kit/ptx/tma.cuh"
#include "common/kit/ptx/wgmma.cuh"

namespace attention {

// Queries of a head from its query `first` on; head -1: there are no more.
struct QueriesOfHead {
  int head, first;
};

template <class T, class Tile, bool kCausal>
__global__ void __launch_bounds__(Tile::kThreads, 1)
    attention_early_scores_kernel(const __grid_constant__ AttentionMaps maps, Tensors<T> t,
                                  TileOrder order, TileCounter counter, int n_q, int n_k,
                                  float scale) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  using Shared = EarlyShared<Tile, QueriesOfHead>;
  // Beside O there is room for Q with d = 128, not with 256; with 64 there are more warpgroups.
  constexpr bool kQInRegisters = Tile::kD == 128;
  constexpr int kWork = Shared::kWork;
  extern __shared__ __align__(1024) unsigned char early_scores_memory[];
  auto& shared = *reinterpret_cast<Shared*>(early_scores_memory);
  auto& kv = shared.kv;
  if (threadIdx.x == 0) shared.init();
  __syncthreads();

  auto k_at = kv.begin(), v_at = kv.begin();
  typename Shared::QState q_at{};
  int work_at = 0;
  const Mask<kCausal, Tile::kTileN> mask{n_q, n_k};
  // Queries without keys get a tile that they do not see.
  const auto tiles_of = [&](int first, int count) { return max(1, mask.tiles(first, count)); };

  // The producer: one thread asks for tiles of queries and has TMA bring all they need.
  const int warpgroup = threadIdx.x / 128;
  if (warpgroup == 0) {
    ptx::setmaxnreg_dec<Tile::kProducerRegisters>();
    if (threadIdx.x != 0) return;
    for (int number = blockIdx.x; number < order.count();) {
      int head, q_tile;
      order.locate<kCausal>(number, head, q_tile);
      const int first_query = q_tile * Tile::kTileM;
      kit::wait_empty(shared.q_empty, q_at);
      shared.work[work_at++ % kWork] = {head, first_query};
      std::uint64_t* const full = &shared.q_full[q_at.stage];
      ptx::mbarrier_arrive_expect_tx(full, Tile::kQBytes);
      ptx::tensor_load(shared.q[q_at.stage], &maps.q, 0, first_query, 0, head, full);
      q_at.next();
      kv.issue(maps, k_at, v_at, head, tiles_of(first_query, Tile::kTileM),
               [&] { number = counter.next(); });
    }
    kit::wait_empty(shared.q_empty, q_at);
    shared.work[work_at % kWork] = {-1, 0};
    ptx::mbarrier_arrive(&shared.q_full[q_at.stage]);
    counter.leave();
    return;
  }

  // The consumers: the warps that compute, with rows of their own.
  ptx::setmaxnreg_inc<Tile::kConsumerRegisters>();
  const int own_rows = 64 * (warpgroup - 1);  // of the tile of queries
  const int row_in_tile = own_rows + threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4;
  const kit::Turn<Tile::kConsumers> turn{warpgroup};
  if (warpgroup == Tile::kConsumers) turn.pass_on();  // the first one begins

  // Registers: O stays, scores and weights are those of a tile of keys.
  OnlineSoftmax rows;
  float o[Tile::kD / 2];
  float s[Tile::kTileN / 2];
  std::uint32_t p[Tile::kTileN / 16][4];
  std::uint32_t q[kQInRegisters ? Tile::kD / 16 : 1][4];
  // Whose scores are computed: these queries, or the next ones.
  int first_query = 0;
  int tiles = 0;   // of keys, that this warpgroup reads
  int unread = 0;  // those after them, that only others need
  int q_stage = 0;
  const auto issue_own_scores = [&] {
    if constexpr (kQInRegisters) {
      issue_scores<Tile>(s, q, kv.k[k_at.stage]);
    } else {
      issue_scores<Tile>(s, shared.q[q_stage] + own_rows * 128, kv.k[k_at.stage]);
    }
  };

  // Takes the next queries; false: there are no more. All lanes read what is told of them, again
  // when they store: a barrier of the turn lies between that and the release that lets the producer
  // write there anew, four tiles later.
  const auto take_next = [&] {
    kit::wait_full(shared.q_full, q_at);
    const QueriesOfHead next = shared.work[work_at++ % kWork];
    q_stage = q_at.stage;
    q_at.next();
    if (next.head < 0) return false;
    first_query = next.first;
    tiles = tiles_of(first_query + own_rows, 64);
    if (kCausal) unread = tiles_of(first_query, Tile::kTileM) - tiles;
    if constexpr (kQInRegisters) {
      load_queries<Tile>(q, shared.q[q_stage], own_rows);
      kit::release(&shared.q_empty[q_stage]);
    }
    return true;
  };
  // The last tiles of keys may be there for others alone: release them unread. A turn for each, so
  // that all warpgroups take as many. (At a block's first queries all take one less.)
  const auto release_unread_keys = [&](int count) {
    for (int i = 0; i < count; ++i) {
      kv.wait_k(k_at);
      __syncwarp();  // one lane releases for all: nobody waits any more
      kv.release_k(k_at);
      turn.wait();
      turn.pass_on();
    }
  };
  const auto release_unread_values = [&](int count) {
    for (int i = 0; i < count; ++i) {
      kv.wait_v(v_at);
      __syncwarp();
      kv.release_v(v_at);
    }
  };

  // Makes weights of the scores of `tile`, which may hold keys that are hidden. True: O must be
  // rescaled.
  const auto weigh = [&](int tile, bool may_hide) {
    // After the last scores, where Q is read in shared memory until then.
    if (!kQInRegisters && tile == 0) kit::release(&shared.q_empty[q_stage]);
    if (may_hide) mask.apply(s, first_query + row_in_tile, tile);
    float tile_max[2];
    OnlineSoftmax::max_of_rows(s, tile_max);
    const bool grown = update_max_if_grown(rows, tile_max);
    rows.exponentiate(s);
    return grown;
  };
  // The first ones of these queries: those of their last tile.
  const auto weigh_first = [&] {
    rows = {scale};
    weigh(tiles - 1, kCausal || tiles * Tile::kTileN > n_k);
  };

  // Both products are issued in one turn; the scores need not wait for V. P V, of the weights
  // before, is computed while weights are made of the scores; it reads p until finish_output().
  // meanwhile(): while the scores are computed.
  bool accumulate = false;  // o has products of these queries
  const auto issue_both = [&](auto meanwhile) {
    kv.wait_k(k_at);
    turn.wait();
    issue_own_scores();
    kv.wait_v(v_at);
    issue_output<Tile>(o, p, kv.v[v_at.stage], accumulate);
    turn.pass_on();
    meanwhile();
    ptx::wgmma_wait_group<1>();
    ptx::fence_registers(s);
    kv.release_k(k_at);
  };
  const auto finish_output = [&] {
    ptx::wgmma_wait_group<0>();
    ptx::fence_registers(o);
    kv.release_v(v_at);
  };
  const auto multiply_tile = [&](int tile, bool may_hide) {
    issue_both([] {});
    accumulate = true;
    const bool grown = weigh(tile, may_hide);
    finish_output();
    rows.template pack<T>(s, p);
    if (grown) OnlineSoftmax::rescale(o, rows.correction);
  };

  if (take_next()) {
    release_unread_keys(unread);
    release_unread_values(unread);
    kv.wait_k(k_at);
    issue_own_scores();
    ptx::wgmma_wait_group<0>();
    ptx::fence_registers(s);
    kv.release_k(k_at);
    weigh_first();
    rows.template pack<T>(s, p);
    for (;;) {
      int tile = tiles - 2;
      // Of more than two warpgroups some may have no queries: theirs all lie past the end. They
      // read no further keys.
      if (kCausal && Tile::kConsumers > 2 && first_query + own_rows >= n_q && tile >= 0) {
        kit::release(&shared.q_empty[q_stage]);
        for (; tile >= 0; --tile) {
          release_unread_keys(1);
          release_unread_values(1);
        }
      }
      const int unmasked = mask.unmasked_tiles(first_query + own_rows);
#pragma unroll 1
      for (; tile >= 0 && tile >= unmasked; --tile) multiply_tile(tile, true);
#pragma unroll 1
      for (; tile >= 0; --tile) multiply_tile(tile, false);

      // region transition
      // These queries have their last weights. Their last product with V goes with the first scores
      // of the next ones.
      EndOfRows end;
      const auto store_results = [&](auto is_free) {
        const QueriesOfHead done = shared.work[(work_at - 2) % kWork];
        end.divide(o);
        store_lse(t, done.head, done.first + row_in_tile, n_q, end.lse);
        store_output<Tile, is_free>(maps, shared.o, o, warpgroup, done.head, done.first, n_q);
      };
      if (!take_next()) {
        kv.wait_v(v_at);
        issue_output<Tile>(o, p, kv.v[v_at.stage], accumulate);
        end.take(rows);
        finish_output();
        store_results(std::false_type{});
        break;
      }
      release_unread_keys(unread);
      // The turn is a barrier of the warpgroup: after it all know that their buffer of O is free.
      if (threadIdx.x % 128 == 0) ptx::bulk_wait_group_read<0>();
      issue_both([&] { end.take(rows); });
      accumulate = false;
      weigh_first();
      finish_output();
      release_unread_values(unread);
      store_results(std::true_type{});
      rows.template pack<T>(s, p);
      // endregion
    }
  }
  if (threadIdx.x % 128 == 0) ptx::bulk_wait_group<0>();  // shared memory is read until then
  if (warpgroup == 1) turn.wait();                        // nobody leaves with a turn unclaimed
#endif
}

template <class Tile, bool kCausal>
void launch_early_scores(const Shape& shape, const Tensors<typename Tile::Element>& t,
                         cudaStream_t stream) {
  static_assert(!kCausal || kit::divide_up(Tile::kTileM - 64, Tile::kTileN) <= Tile::kStages,
                "who leaves more tiles unread holds the stage of V that the next K waits for");
  constexpr int kShared = sizeof(EarlyShared<Tile, QueriesOfHead>);
  const auto kernel = attention_early_scores_kernel<typename Tile::Element, Tile, kCausal>;
  kit::allow_shared(kernel, kShared);
  const TileOrder order = TileOrder::of(shape, Tile::kTileM);
  kernel<<<std::min(kit::multiprocessor_count(), order.count()), Tile::kThreads, kShared, stream>>>(
      tensor_maps<Tile>(shape, t), t, order, TileCounter::of_launch(), static_cast<int>(shape.n_q),
      static_cast<int>(shape.n_k), shape.scale() * kLog2E);
  CUDA_CHECK(cudaGetLastError());
}

// Device pointers, aligned to 16 bytes; shapes as Shape says. The tiles are those that were fastest
// on an H200: small ones of keys where there are few.
template <class T>
void early_scores(const Shape& shape, const Tensors<T>& t, cudaStream_t stream) {
  with_head_dim(shape.d, shape.causal, [&](auto d, auto causal) {
    const auto launch = [&](auto tile) {
      launch_early_scores<decltype(tile), causal>(shape, t, stream);
    };
    if constexpr (d == 64) {
      // Rows past the end are computed, too: a tile must fit the queries.
      const auto rows = [&](int tile) { return kit::divide_up(shape.n_q, tile) * tile; };
      const bool few_keys = shape.n_k <= 1024;
      if constexpr (!causal) {
        if (few_keys && rows(256) <= rows(192)) return launch(EarlyTile<T, 64, 4, 64, 4>{});
      }
      const int tolerated = causal && few_keys ? 10 : 11;  // tenths
      if (10 * rows(192) <= tolerated * rows(128)) return launch(EarlyTile<T, 64, 3, 128, 3>{});
      launch(EarlyTile<T, 64, 2, 128, 3>{});
    } else if constexpr (d == 128) {
      if (shape.n_k <= 256) return launch(EarlyTile<T, 128, 2, 64, 4>{});
      launch(EarlyTile<T, 128, 2, 128, 2>{});
    } else {
      launch(EarlyTile<T, 256, 2, 64, 2>{});
    }
  });
}

}  // namespace attention
