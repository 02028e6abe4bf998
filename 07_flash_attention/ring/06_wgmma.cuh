// wgmma: the steps of zigzag with the fastest kernel for Hopper.
//
// It is the last rung of the Hopper page (longest_first): TMA, warps with roles, turns, blocks that
// stay. New are the window of rows and the state. What the steps before have left comes from memory
// while the first scores are computed, so nobody waits for it. What is still wrong: each step ends
// with a few SMs at work, and the shortest ones end before the next shard has come.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "07_flash_attention/kit/accumulators.cuh"
#include "07_flash_attention/kit/attention_tile.cuh"
#include "07_flash_attention/kit/persistent_shared.cuh"
#include "07_flash_attention/kit/tile_scheduler.cuh"
#include "07_flash_attention/ring/kit/ring_steps.cuh"
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
struct StepShared : attention::PersistentShared<Tile> {
  int tile;  // whose queries are in q; -1: there are no more
};

// memory: of the first head, whose rows begin at the window; from head to head it is own_rows rows.
template <class T, class Tile, bool kIsDiagonal>
__global__ void __launch_bounds__(Tile::kThreads, 1)
    step_kernel(const __grid_constant__ attention::AttentionMaps maps,
                RowsInMemory<T, Tile::kD> memory, attention::TileOrder order,
                attention::TileCounter counter, int own_rows, int n_k, bool is_first, float scale) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  using Softmax = attention::OnlineSoftmax;
  constexpr bool kQInRegisters = Tile::kD == 128;  // with 64 there are more warpgroups
  // One thread sets up the barriers, before anybody uses them.
  extern __shared__ unsigned char dynamic_shared[];
  auto& shared = kit::aligned_shared<StepShared<Tile>>(dynamic_shared);
  auto& kv = shared.kv;
  if (threadIdx.x == 0) shared.init();
  __syncthreads();

  auto k_at = kv.begin(), v_at = kv.begin();
  auto q_at = shared.q_begin();
  const attention::Mask<kIsDiagonal, Tile::kTileN> mask{memory.n, n_k};

  // The producer: one thread asks for tiles of queries and has TMA bring all they need.
  const int warpgroup = threadIdx.x / 128;
  if (warpgroup == 0) {
    ptx::setmaxnreg_dec<Tile::kProducerRegisters>();
    if (threadIdx.x != 0) return;
    int tile_of_queries = blockIdx.x;
    while (tile_of_queries < order.count()) {
      int next = 0, head, q_tile;
      order.locate<kIsDiagonal>(tile_of_queries, head, q_tile);
      const int first_query = q_tile * Tile::kTileM;
      const int tiles = mask.tiles(first_query, Tile::kTileM);
      shared.wait_q_empty(q_at);
      shared.tile = tile_of_queries;
      shared.issue_q(maps, q_at, first_query, head);
      kv.issue(maps, k_at, v_at, head, tiles, [&] { next = counter.next(); });
      tile_of_queries = next;
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
    int head, q_tile;
    order.locate<kIsDiagonal>(tile_of_queries, head, q_tile);
    const int first_query = q_tile * Tile::kTileM, row = first_query + row_in_tile;
    const int tiles = mask.tiles(first_query, Tile::kTileM);
    const int unmasked = mask.unmasked_tiles(first_query + own_rows_in_tile);
    if constexpr (kQInRegisters) {
      attention::load_queries<Tile>(q, shared.q, own_rows_in_tile);
      shared.release_q();
    }

    // region state
    // What the steps before have left is asked for now, and used after the first scores.
    RowsInMemory<T, Tile::kD> of_head = memory;
    of_head.advance(std::int64_t{head} * own_rows);
    rows = {scale};
    if (is_first) {
#pragma unroll
      for (int i = 0; i < Tile::kD / 2; ++i) o[i] = 0;
    } else {
      of_head.resume(row, rows, o);
    }
    // endregion

    // Makes weights of the scores of `tile`. True: O must be rescaled.
    const auto weigh = [&](int tile, auto masked) {
      if constexpr (decltype(masked)::value) mask.apply(s, row, tile);
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
    if (tiles > 0) {
      int tile = tiles - 1;
      kv.wait_k(k_at);
      issue_own_scores();
      ptx::wgmma_wait_group<0>();
      ptx::fence_registers(s);
      kv.release_k(k_at);
      if (weigh(tile--, std::true_type{})) Softmax::rescale(o, rows.correction);
      rows.template pack<T>(s, p);
#pragma unroll 1
      for (; tile >= 0 && tile >= unmasked; --tile) multiply_tile(tile, std::true_type{});
#pragma unroll 1
      for (; tile >= 0; --tile) multiply_tile(tile, std::false_type{});
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

// A step: the rows of `own` that `work` says. own_rows, key_rows: of a head in memory.
template <class T, int kD, bool kIsDiagonal>
void launch_step(const Shard<T>& own, const T* k, const T* v, int heads, int own_rows, int key_rows,
                 const Work& work, bool is_first, cudaStream_t stream) {
  using Tile = attention::AttentionTile<T, kD, kD == 64 ? 3 : 2, 128, kD == 64 ? 3 : 2>;
  constexpr int kShared = kit::aligned_shared_bytes<StepShared<Tile>>();
  const std::int64_t first = std::int64_t{work.first_query} * kD;
  const attention::AttentionMaps maps = {
      window_map<Tile>(own.q + first, heads, own_rows, work.queries, Tile::kTileM),
      window_map<Tile>(k, heads, key_rows, work.keys, Tile::kTileN),
      window_map<Tile>(v, heads, key_rows, work.keys, Tile::kTileN),
      {}};
  const RowsInMemory<T, kD> memory{own.state + first, own.lse + work.first_query, own.o + first,
                                   work.queries, work.complete};
  const attention::Shape shape{1, heads, work.queries, work.keys, kD, kIsDiagonal};
  const auto order = attention::TileOrder::of(shape, Tile::kTileM);
  const auto kernel = step_kernel<T, Tile, kIsDiagonal>;
  const int blocks = std::min(kit::multiprocessor_count(), order.count());
  kit::allow_shared(kernel, kShared);
  kernel<<<blocks, Tile::kThreads, kShared, stream>>>(maps, memory, order,
                                                      attention::TileCounter{own.tile_counts},
                                                      own_rows, work.keys, is_first, scale_of(kD));
  CUDA_CHECK(cudaGetLastError());
}

// As launch_zigzag.
template <class T>
void launch_wgmma(const Shard<T>& own, const T* k, const T* v, int heads, int d, int own_rows,
                  int key_rows, const Work& work, bool is_first, cudaStream_t stream) {
  with_head_dim(d, work.is_diagonal, [&](auto head_dim, auto is_diagonal) {
    launch_step<T, head_dim, is_diagonal>(own, k, v, heads, own_rows, key_rows, work, is_first,
                                          stream);
  });
}

// o and lse of every rank. In the streams of the team, whose shards are either way.
template <class T>
void ring_attention_wgmma(const Team<T>& team) {
  const Sharding& sharding = team.sharding;
  for_each_step(team, [&](int rank, int step, const T* k, const T* v, cudaStream_t stream) {
    const Work work = sharding.work(rank, step);
    if (!work.any()) return;
    launch_wgmma(team.shards[rank], k, v, team.heads, team.d, sharding.rows(rank),
                 sharding.rows(sharding.owner(rank, step)), work, step == 0, stream);
  });
}

}  // namespace ring_attention
