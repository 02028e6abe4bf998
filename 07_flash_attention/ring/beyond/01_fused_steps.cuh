// fused_steps: two steps in one kernel; between them O stays in registers.
//
// A tile of queries goes on from the shard at hand to the next one while others still begin. So
// nothing is stored and loaded between the two, and no SM waits for the last one of a step. The
// second shard comes meanwhile, a few heads at a time; before its first keys the producer polls the
// flag of their piece. The first two steps are fused and the last two: a rank still has room for
// two shards. What is still wrong: with more ranks the steps between are as before.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "07_flash_attention/kit/accumulators.cuh"
#include "07_flash_attention/kit/attention_tile.cuh"
#include "07_flash_attention/kit/persistent_shared.cuh"
#include "07_flash_attention/kit/tile_scheduler.cuh"
#include "07_flash_attention/ring/kit/arrivals.cuh"
#include "07_flash_attention/ring/kit/fused_steps.cuh"
#include "07_flash_attention/ring/kit/sharding.hpp"
#include "07_flash_attention/ring/kit/state.cuh"
#include "07_flash_attention/ring/kit/team.cuh"
#include "07_flash_attention/shape.hpp"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/pipeline.cuh"
#include "common/kit/ptx/roles.cuh"
#include "common/kit/ptx/tma.cuh"
#include "common/kit/ptx/wgmma.cuh"

namespace ring_attention {

template <class Tile>
struct FusedShared : attention::PersistentShared<Tile> {
  int tile;  // whose queries are in q; -1: there are no more
};

// Of the shard at hand, and of the next one.
struct FusedMaps {
  attention::AttentionMaps first, second;
};

// memory: of the first head, whose rows begin at the window; from head to head it is own_rows rows.
template <class T, class Tile, bool kIsDiagonal>
__global__ void __launch_bounds__(Tile::kThreads, 1)
    fused_steps_kernel(const __grid_constant__ FusedMaps maps, RowsInMemory<T, Tile::kD> memory,
                       attention::TileOrder order, attention::TileCounter counter, FusedWork work,
                       Arrivals arrivals, int own_rows, bool is_first, float scale) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  using Softmax = attention::OnlineSoftmax;
  constexpr bool kQInRegisters = Tile::kD == 128;  // with 64 there are more warpgroups
  // One thread sets up the barriers, before anybody uses them.
  extern __shared__ unsigned char dynamic_shared[];
  auto& shared = kit::aligned_shared<FusedShared<Tile>>(dynamic_shared);
  auto& kv = shared.kv;
  if (threadIdx.x == 0) shared.init();
  __syncthreads();

  auto k_at = kv.begin(), v_at = kv.begin();
  auto q_at = shared.q_begin();

  // The producer: one thread asks for tiles of queries and has TMA bring all they need. A tile's
  // keys are counted through both shards, the last ones first: those of the second shard are below
  // at.second.
  const int warpgroup = threadIdx.x / 128;
  if (warpgroup == 0) {
    ptx::setmaxnreg_dec<Tile::kProducerRegisters>();
    if (threadIdx.x != 0) return;
    int tile_of_queries = blockIdx.x, pieces_here = 0;
    while (tile_of_queries < order.count()) {
      const FusedTile at = locate<Tile, kIsDiagonal>(order, work, tile_of_queries);
      shared.wait_q_empty(q_at);
      shared.tile = tile_of_queries;
      shared.issue_q(maps.first, q_at, at.first_query, at.head);
      const auto issue = [&](auto& to, auto& full, auto& empty, auto& state,
                             const CUtensorMap& first, const CUtensorMap& second, int tile) {
        kit::wait_empty(empty, state);
        ptx::mbarrier_arrive_expect_tx(&full[state.stage], Tile::kKvBytes);
        const bool is_second = tile < at.second;
        const int row = (is_second ? tile : tile - at.second) * Tile::kTileN;
        ptx::tensor_load(to[state.stage], is_second ? &second : &first, 0, row, 0, at.head,
                         &full[state.stage]);
        state.next();
      };
      const auto issue_k = [&](int tile) {
        // region arrived
        // Before the first keys of the second shard. Pieces come in order.
        const int piece = arrivals.pieces.of_head(at.head);
        if (tile == at.second - 1 && piece >= pieces_here) {
          arrivals.wait(piece);
          ptx::fence_proxy_async_global();  // TMA shall see what the flag has made visible
          pieces_here = piece + 1;
        }
        // endregion
        issue(kv.k, kv.k_full, kv.k_empty, k_at, maps.first.k, maps.second.k, tile);
      };
      const auto issue_v = [&](int tile) {
        issue(kv.v, kv.v_full, kv.v_empty, v_at, maps.first.v, maps.second.v, tile);
      };
      // K of the next tile goes before V: its scores are wanted first.
      int tile = at.first + at.second - 1;
      if (tile >= 0) issue_k(tile);
      for (; tile > 0; --tile) {
        issue_k(tile - 1);
        issue_v(tile);
      }
      tile_of_queries = counter.next();
      if (tile == 0) issue_v(0);
    }
    shared.wait_q_empty(q_at);
    shared.tile = -1;
    ptx::mbarrier_arrive(&shared.q_full);
    counter.leave();
    return;
  }

  // The consumers: the warps that compute, with rows of their own.
  ptx::setmaxnreg_inc<Tile::kConsumerRegisters>();
  const int own_rows_in_tile = 64 * (warpgroup - 1);
  const int row_in_tile = own_rows_in_tile + threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4;
  const kit::Turn<Tile::kConsumers> turn{warpgroup};
  if (warpgroup == Tile::kConsumers) turn.pass_on();  // the first one begins
  const attention::Mask<kIsDiagonal, Tile::kTileN> first_mask{work.queries, work.keys};
  const attention::Mask<false, Tile::kTileN> second_mask{work.queries, work.second_keys};

  // Registers: O stays, scores and weights are those of a tile of keys.
  Softmax rows;
  float o[Tile::kD / 2];
  float s[Tile::kTileN / 2];
  std::uint32_t p[Tile::kTileN / 16][4];
  std::uint32_t q[kQInRegisters ? Tile::kD / 16 : 1][4];
  const auto issue_own_scores = [&] {
    if constexpr (kQInRegisters) {
      attention::issue_scores<Tile>(s, q, kv.k[k_at.stage]);
    } else {
      attention::issue_scores<Tile>(s, shared.q + own_rows_in_tile * 128, kv.k[k_at.stage]);
    }
  };

  for (;;) {
    // The number of the tile comes with Q. It is read by the lane that will arrive at q_empty for
    // its warp: after that the producer writes again.
    shared.wait_q(q_at);
    const int read = threadIdx.x % 32 == 0 ? shared.tile : 0;
    const int tile_of_queries = __shfl_sync(0xffffffffu, read, 0);
    if (tile_of_queries < 0) break;
    const FusedTile at = locate<Tile, kIsDiagonal>(order, work, tile_of_queries);
    const int row = at.first_query + row_in_tile;
    if constexpr (kQInRegisters) {
      attention::load_queries<Tile>(q, shared.q, own_rows_in_tile);
      shared.release_q();
    }

    // What the steps before have left is asked for now, and used after the first scores.
    RowsInMemory<T, Tile::kD> of_head = memory;
    of_head.advance(std::int64_t{at.head} * own_rows);
    of_head.n = at.end;
    rows = {scale};
    if (is_first) {
#pragma unroll
      for (int i = 0; i < Tile::kD / 2; ++i) o[i] = 0;
    } else {
      of_head.resume(row, rows, o);
    }

    // Makes weights of the scores of `tile`. True: O must be rescaled.
    const auto weigh = [&](int tile, auto masked) {
      if constexpr (decltype(masked)::value) {
        if (tile >= at.second) {
          first_mask.apply(s, row, tile - at.second);
        } else {
          second_mask.apply(s, row, tile);
        }
      }
      float tile_max[2];
      Softmax::max_of_rows(s, tile_max);
      const bool grown = update_max_if_grown(rows, tile_max);
      rows.exponentiate(s);
      return grown;
    };
    const auto multiply_tile = [&](int tile, auto masked) {
      // Both products are issued in one turn; the scores need not wait for V.
      kv.wait_k(k_at);
      turn.wait();
      issue_own_scores();
      kv.wait_v(v_at);
      attention::issue_output<Tile>(o, p, kv.v[v_at.stage], true);
      turn.pass_on();

      // The weights, while P V is computed; it reads p until the second wait.
      ptx::wgmma_wait_group<1>();
      ptx::fence_registers(s);
      kv.release_k(k_at);
      const bool grown = weigh(tile, masked);
      ptx::wgmma_wait_group<0>();
      ptx::fence_registers(o);
      kv.release_v(v_at);
      rows.template pack<T>(s, p);
      if (grown) Softmax::rescale(o, rows.correction);
    };

    // The first scores have no P V of a tile before to go with, and the last P V no scores.
    int tile = at.first + at.second - 1;
    if (tile >= 0) {
      kv.wait_k(k_at);
      issue_own_scores();
      ptx::wgmma_wait_group<0>();
      ptx::fence_registers(s);
      kv.release_k(k_at);
      if (weigh(tile--, std::true_type{})) Softmax::rescale(o, rows.correction);
      rows.template pack<T>(s, p);

      // Masked are the last tiles of the first shard, and of the second one a tile that is not
      // full.
      int masked = at.second + first_mask.unmasked_tiles(at.first_query + own_rows_in_tile);
      int unmasked = work.second_keys % Tile::kTileN == 0 ? 0 : at.second;
#pragma unroll 1
      for (;;) {
#pragma unroll 1
        for (; tile >= 0 && tile >= masked; --tile) multiply_tile(tile, std::true_type{});
#pragma unroll 1
        for (; tile >= unmasked; --tile) multiply_tile(tile, std::false_type{});
        if (unmasked == 0) break;
        masked = at.second - 1;
        unmasked = 0;
      }
      if constexpr (!kQInRegisters) shared.release_q();
      kv.wait_v(v_at);
      attention::issue_output<Tile>(o, p, kv.v[v_at.stage], true);
      ptx::wgmma_wait_group<0>();
      ptx::fence_registers(o);
      kv.release_v(v_at);
    } else if constexpr (!kQInRegisters) {
      shared.release_q();
    }
    of_head.leave(row, rows, o);
  }
  if (warpgroup == 1) turn.wait();  // nobody leaves with a turn unclaimed
#endif
}

// own_rows: of a head in memory.
template <class T, int kD, bool kIsDiagonal>
void launch_fused_steps(const Shard<T>& own, const KeysAndValues<T> (&shards)[2], int heads,
                        int own_rows, const FusedWork& work, Arrivals arrivals, bool is_first,
                        cudaStream_t stream) {
  using Tile = attention::AttentionTile<T, kD, kD == 64 ? 3 : 2, 128, kD == 64 ? 3 : 2>;
  constexpr int kShared = kit::aligned_shared_bytes<FusedShared<Tile>>();
  const std::int64_t first = std::int64_t{work.first_query} * kD;
  const auto map = [&](const T* base, int rows, int window, int box) {
    return window_map<Tile>(base, heads, rows, window, box);
  };
  const auto& [at_hand, next] = shards;
  const FusedMaps maps = {{map(own.q + first, own_rows, work.queries, Tile::kTileM),
                           map(at_hand.k, at_hand.rows, work.keys, Tile::kTileN),
                           map(at_hand.v, at_hand.rows, work.keys, Tile::kTileN),
                           {}},
                          {{},
                           map(next.k, next.rows, work.second_keys, Tile::kTileN),
                           map(next.v, next.rows, work.second_keys, Tile::kTileN),
                           {}}};
  const RowsInMemory<T, kD> memory{own.state + first, own.lse + work.first_query, own.o + first,
                                   work.queries, work.complete};
  const int q_tiles = kit::divide_up(work.split, Tile::kTileM) +
                      kit::divide_up(work.queries - work.split, Tile::kTileM);
  const auto order = attention::TileOrder::of(heads, q_tiles, work.heads_at_a_time(heads, kD));
  const auto kernel = fused_steps_kernel<T, Tile, kIsDiagonal>;
  const int most = kit::multiprocessor_count() - (write_value() == nullptr ? 1 : 0);
  kit::allow_shared(kernel, kShared);
  kernel<<<std::clamp(order.count(), 1, std::max(most, 1)), Tile::kThreads, kShared, stream>>>(
      maps, memory, order, attention::TileCounter{own.tile_counts}, work, arrivals, own_rows,
      is_first, scale_of(kD));
  CUDA_CHECK(cudaGetLastError());
}

// o and lse of every rank. In the streams of the team, whose shards are either way.
template <class T>
void ring_attention_fused_steps(const Team<T>& team) {
  for_each_fused_step(team, [&](int rank, int step, int count, const KeysAndValues<T>(&shards)[2],
                                Arrivals arrivals, cudaStream_t stream) {
    const FusedWork work = fused_work(team.sharding, rank, step, count);
    if (!work.any()) return;
    with_head_dim(team.d, work.is_diagonal, [&](auto head_dim, auto is_diagonal) {
      launch_fused_steps<T, head_dim, is_diagonal>(team.shards[rank], shards, team.heads,
                                                   team.sharding.rows(rank), work, arrivals,
                                                   step == 0, stream);
    });
  });
}

}  // namespace ring_attention
