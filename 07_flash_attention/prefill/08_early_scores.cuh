// early_scores: the next queries have their first scores computed beside the last product with V.
//
// Where its queries changed, a warpgroup had nothing for the tensor cores: it waited for the last
// product with V, divided, stored, waited for the next queries, and then for their first scores. A
// sequence of 256 tokens has hardly anything else. Now the next queries are taken before the last
// product with V, and their first scores are asked for together with it. What is still wrong: a
// sequence shorter than a tile of queries leaves a part of it empty, if no heads share its keys.
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
#include "07_flash_attention/prefill/kit/clipped_maps.cuh"
#include "07_flash_attention/prefill/kit/early_scores.cuh"
#include "07_flash_attention/prefill/kit/heads_in_tile.cuh"
#include "07_flash_attention/prefill/kit/key_tiles.cuh"
#include "07_flash_attention/prefill/kit/prefill_tile.cuh"
#include "07_flash_attention/prefill/kit/results.cuh"
#include "07_flash_attention/prefill/kit/tile_list.cuh"
#include "07_flash_attention/prefill/shape.hpp"
#include "07_flash_attention/shape.hpp"
#include "common/kit/launch.cuh"
#include "common/kit/pipeline.cuh"
#include "common/kit/programmatic_launch.cuh"
#include "common/kit/ptx/grid.cuh"
#include "common/kit/ptx/roles.cuh"
#include "common/kit/ptx/tma.cuh"
#include "common/kit/ptx/wgmma.cuh"
#include "common/kit/workspace.cuh"

namespace prefill {

template <class T, class Tile>
__global__ void __launch_bounds__(Tile::kThreads, 1)
    prefill_early_scores_kernel(const __grid_constant__ attention::AttentionMaps maps, Tensors<T> t,
                                Shape shape, TileList list, attention::TileOrder order,
                                attention::TileCounter counter, int log2_heads, float scale) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  using Softmax = attention::OnlineSoftmax;
  constexpr bool kQInRegisters = Tile::kD == 128;
  constexpr int kWork = EarlyShared<Tile>::kWork;
  // One thread sets up the barriers, before anybody uses them.
  extern __shared__ __align__(1024) unsigned char early_scores_memory[];
  auto& shared = *reinterpret_cast<EarlyShared<Tile>*>(early_scores_memory);
  auto& kv = shared.kv;
  if (threadIdx.x == 0) shared.init();
  __syncthreads();

  auto k_at = kv.begin(), v_at = kv.begin();
  typename EarlyShared<Tile>::QState q_at{};
  int work_at = 0;
  const int heads = 1 << log2_heads;  // side by side
  const auto tiles_of = [&](int first_query, const Visibility& seen) {
    const int last = min(first_query + (Tile::kTileM >> log2_heads), seen.n_q) - 1;
    KeyTiles tiles = key_tiles<Tile::kTileN>(seen, first_query, last);
    if (tiles.begin == tiles.end) ++tiles.end;  // without keys: a tile that is not seen
    return tiles;
  };

  // The producer: one thread asks for tiles of queries and has TMA bring all they need.
  const int warpgroup = threadIdx.x / 128;
  if (warpgroup == 0) {
    ptx::setmaxnreg_dec<Tile::kProducerRegisters>();
    if (threadIdx.x != 0) return;
    ptx::griddepcontrol_wait();  // for the list
    order.q_tiles = *list.count;
    for (int number = blockIdx.x; number < order.count();) {
      int head = 0, place = 0;
      order.locate<true>(number, head, place);
      head *= heads;
      const QueryTile queries = list.tiles[place];
      const Sequence& sequence = queries.sequence;
      const KeyTiles tiles = tiles_of(queries.first_query, shape.visibility(sequence));
      kit::wait_empty(shared.q_empty, q_at);
      shared.work[work_at++ % kWork] = {sequence, queries.first_query, head, {}};
      shared.issue_q(maps, q_at, head, sequence.first_q + queries.first_query,
                     sequence.n_q - queries.first_query, heads);
      issue_clipped<Tile>(kv, maps, k_at, v_at, head / shape.group(), sequence.first_k,
                          sequence.n_k, tiles.begin, tiles.end, [&] { number = counter.next(); });
    }
    kit::wait_empty(shared.q_empty, q_at);
    shared.work[work_at % kWork] = {{}, 0, -1, {}};
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
  Softmax rows;
  float o[Tile::kD / 2];
  float s[Tile::kTileN / 2];
  std::uint32_t p[Tile::kTileN / 16][4];
  std::uint32_t q[kQInRegisters ? Tile::kD / 16 : 1][4];
  // Whose scores are computed: these queries, or the next ones.
  Work work;
  KeyTiles tiles;
  int q_stage = 0;
  const auto issue_own_scores = [&] {
    if constexpr (kQInRegisters) {
      attention::issue_scores<Tile>(s, q, kv.k[k_at.stage]);
    } else {
      attention::issue_scores<Tile>(s, shared.q[q_stage] + own_rows * 128, kv.k[k_at.stage]);
    }
  };
  // What a row of a tile is: row / heads counts the tokens, row % heads their heads.
  const auto head_of = [&](const Work& of, int row) { return of.head + (row & (heads - 1)); };
  const auto query_of = [&](const Work& of, int row) {
    return of.first_query + (row >> log2_heads);
  };

  // Takes the next queries; false: there are no more. All lanes read what is told of them: it is
  // written over four tiles later, when all warps have released a later Q.
  const auto take_next = [&] {
    kit::wait_full(shared.q_full, q_at);
    work = shared.work[work_at++ % kWork];
    q_stage = q_at.stage;
    q_at.next();
    if (work.head < 0) return false;
    tiles = tiles_of(work.first_query, shape.visibility(work.sequence));
    if constexpr (kQInRegisters) {
      attention::load_queries<Tile>(q, shared.q[q_stage], own_rows);
      kit::release(&shared.q_empty[q_stage]);
    }
    return true;
  };
  // Makes weights of the scores of `tile`, which may hold keys that are hidden. True: O must be
  // rescaled.
  const auto weigh = [&](int tile, bool may_hide) {
    // After the last scores, where Q is read in shared memory until then.
    if (!kQInRegisters && tile == tiles.begin) kit::release(&shared.q_empty[q_stage]);
    if (may_hide) {
      const int query[2] = {query_of(work, row_in_tile), query_of(work, row_in_tile + 8)};
      hide_unseen<Tile::kTileN>(s, shape.visibility(work.sequence), query, tile);
    }
    float tile_max[2];
    Softmax::max_of_rows(s, tile_max);
    const bool grown = update_max_if_grown(rows, tile_max);
    rows.exponentiate(s);
    return grown;
  };
  // The first ones of these queries: those of their last tile.
  const auto weigh_first = [&] {
    rows = {scale};
    weigh(tiles.end - 1, tiles.end > tiles.full_end || tiles.end <= tiles.full_begin);
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
    attention::issue_output<Tile>(o, p, kv.v[v_at.stage], accumulate);
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
    if (grown) Softmax::rescale(o, rows.correction);
  };

  if (take_next()) {
    kv.wait_k(k_at);
    issue_own_scores();
    ptx::wgmma_wait_group<0>();
    ptx::fence_registers(s);
    kv.release_k(k_at);
    weigh_first();
    rows.template pack<T>(s, p);
    for (;;) {
      // The mask hides keys of the last tiles, which come first, and of the first ones of a window.
      int tile = tiles.end - 2;
#pragma unroll 1
      for (; tile >= tiles.begin && tile >= tiles.full_end; --tile) multiply_tile(tile, true);
#pragma unroll 1
      for (; tile >= tiles.full_begin; --tile) multiply_tile(tile, false);
#pragma unroll 1
      for (; tile >= tiles.begin; --tile) multiply_tile(tile, true);

      // region transition
      // These queries have their last weights. Their last product with V goes with the first scores
      // of the next ones.
      attention::EndOfRows end;
      const auto store_results = [&](auto is_free) {
        const Work& done = shared.work[(work_at - 2) % kWork];
        end.divide(o);
        const auto& [first_q, n_q, first_k, n_k] = done.sequence;
        store_lse(t, shape.q_tokens, first_q, n_q,
                  {head_of(done, row_in_tile), head_of(done, row_in_tile + 8)},
                  {query_of(done, row_in_tile), query_of(done, row_in_tile + 8)}, end.lse);
        unsigned char* const buffer = shared.o + own_rows * attention::kOColumns<Tile> * 2;
        const int first = query_of(done, own_rows);
        store_clipped<Tile, is_free>(maps, buffer, o, warpgroup, done.head, first_q + first,
                                     n_q - first, heads);
      };
      if (!take_next()) {
        kv.wait_v(v_at);
        attention::issue_output<Tile>(o, p, kv.v[v_at.stage], accumulate);
        end.take(rows);
        finish_output();
        store_results(std::false_type{});
        break;
      }
      // The turn is a barrier of the warpgroup: after it all know that their buffer of O is free.
      if (threadIdx.x % 128 == 0) ptx::bulk_wait_group_read<0>();
      issue_both([&] { end.take(rows); });
      accumulate = false;
      weigh_first();
      finish_output();
      store_results(std::true_type{});
      rows.template pack<T>(s, p);
      // endregion
    }
  }
  if (threadIdx.x % 128 == 0) ptx::bulk_wait_group<0>();  // shared memory is read until then
  if (warpgroup == 1) turn.wait();                        // nobody leaves with a turn unclaimed
#endif
}

// log2_heads: the logarithm of how many heads of a token lie side by side in a tile of queries.
template <class Tile>
void launch_early_scores(const Shape& shape, const Tensors<typename Tile::Element>& t,
                         const Starts& starts, int log2_heads, const kit::Workspace& workspace,
                         cudaStream_t stream) {
  constexpr int kShared = sizeof(EarlyShared<Tile>);
  const auto kernel = prefill_early_scores_kernel<typename Tile::Element, Tile>;
  kit::allow_shared(kernel, kShared);
  const int heads = 1 << log2_heads, queries = Tile::kTileM >> log2_heads;
  const TileList list = make_tile_list<Tile::kTileN>(shape, starts, queries, workspace, stream);
  const int most = most_query_tiles(shape, queries) * (shape.heads / heads);
  // Its blocks may begin while the list is made.
  kit::launch_programmatic(kernel, std::min(kit::multiprocessor_count(), most), Tile::kThreads,
                           kShared, stream, clipped_maps<Tile>(shape, t, heads), t, shape, list,
                           order_of_heads(shape, shape.heads / heads),
                           attention::TileCounter::of_launch(), log2_heads,
                           shape.scale() * attention::kLog2E);
}

// Device pointers, aligned to 16 bytes; shapes as Shape says. The tiles are those that were fastest
// on an H200: smaller ones where sequences are short.
template <class T>
void early_scores(const Shape& shape, const Tensors<T>& t, const Starts& starts,
                  const kit::Workspace& workspace, cudaStream_t stream) {
  if (shape.q_tokens == 0) return;
  // Queries without keys have a box of keys loaded, too: there must be a first one.
  Shape with_keys = shape;
  Tensors<T> tensors = t;
  if (shape.k_tokens == 0) with_keys.k_tokens = 1, tensors.k = tensors.v = t.q;
  const int side_by_side = log2_of_heads(shape);
  const auto launch = [&](auto tile, int log2_heads) {
    launch_early_scores<decltype(tile)>(with_keys, tensors, starts, log2_heads, workspace, stream);
  };
  const auto are_short = [&](int most) {
    return shape.longest <= most && shape.k_tokens / shape.batch <= most;
  };
  if (shape.d == 256) return launch(PrefillTile<T, 256>{}, side_by_side);
  if (shape.d == 128) {
    if (shape.causal && are_short(side_by_side > 0 ? 512 : 128)) {
      return launch(attention::EarlyTile<T, 128, 2, 64, 4>{}, side_by_side);
    }
    return launch(PrefillTile<T, 128>{}, fills_tiles(shape, 128) ? 0 : side_by_side);
  }
  if (side_by_side == 0 && are_short(1024) && (shape.causal || !fills_tiles(shape, 256))) {
    return launch(attention::EarlyTile<T, 64, 2, 128, 3>{}, 0);
  }
  if (are_short(2048)) return launch(ShortTile<T>{}, side_by_side);
  launch(PrefillTile<T, 64>{}, side_by_side);
}

}  // namespace prefill
