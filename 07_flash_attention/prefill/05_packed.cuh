// packed: one launch for all sequences; their tiles of queries are in one list (sm_90a).
//
// A small kernel ahead makes the list from the lengths, which lie on the device, and a counter
// hands out its tiles, those with most to do first, whichever sequence they are from: no SM is idle
// until the list is empty. One tensor map serves all sequences; it is made so that a box ends where
// its sequence ends, so no query of the next one is written over, and no key of it comes, not even
// for a weight of 0, which an infinite value would turn into NaN. What is still wrong: with a
// window all tiles of keys before it are loaded and multiplied, and their scores thrown away.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "07_flash_attention/kit/accumulators.cuh"
#include "07_flash_attention/kit/attention_tile.cuh"
#include "07_flash_attention/kit/persistent_shared.cuh"
#include "07_flash_attention/kit/tile_scheduler.cuh"
#include "07_flash_attention/prefill/kit/clipped_maps.cuh"
#include "07_flash_attention/prefill/kit/key_tiles.cuh"
#include "07_flash_attention/prefill/kit/prefill_tile.cuh"
#include "07_flash_attention/prefill/kit/results.cuh"
#include "07_flash_attention/prefill/kit/tile_list.cuh"
#include "07_flash_attention/prefill/shape.hpp"
#include "07_flash_attention/shape.hpp"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/pipeline.cuh"
#include "common/kit/ptx/roles.cuh"
#include "common/kit/ptx/tma.cuh"
#include "common/kit/ptx/wgmma.cuh"
#include "common/kit/workspace.cuh"

namespace prefill {

// What is in q: a tile of the list, of a head; -1: there are no more.
template <class Tile>
struct PackedShared : attention::StoringShared<Tile> {
  QueryTile queries;
  int head;
};

template <class T, class Tile>
__global__ void __launch_bounds__(Tile::kThreads, 1)
    prefill_packed_kernel(const __grid_constant__ attention::AttentionMaps maps, Tensors<T> t,
                          Shape shape, TileList list, attention::TileOrder order,
                          attention::TileCounter counter, float scale) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  using Softmax = attention::OnlineSoftmax;
  constexpr bool kQInRegisters = Tile::kD == 128;
  // One thread sets up the barriers, before anybody uses them.
  extern __shared__ unsigned char dynamic_shared[];
  auto& shared = kit::aligned_shared<PackedShared<Tile>>(dynamic_shared);
  auto& kv = shared.kv;
  if (threadIdx.x == 0) shared.init();
  __syncthreads();

  auto k_at = kv.begin(), v_at = kv.begin();
  auto q_at = shared.q_begin();
  const auto tiles_of = [&](const QueryTile& queries, const Visibility& seen) {
    const int last = min(queries.first_query + Tile::kTileM, seen.n_q) - 1;
    KeyTiles tiles = key_tiles<Tile::kTileN>(seen, queries.first_query, last);
    tiles.begin = 0;  // all before a window, too
    return tiles;
  };

  // The producer: one thread asks for tiles of queries and has TMA bring all they need.
  const int warpgroup = threadIdx.x / 128;
  if (warpgroup == 0) {
    ptx::setmaxnreg_dec<Tile::kProducerRegisters>();
    if (threadIdx.x != 0) return;
    order.q_tiles = *list.count;
    // region producer
    for (int number = blockIdx.x; number < order.count();) {
      int head = 0, place = 0;
      order.locate<true>(number, head, place);
      const QueryTile queries = list.tiles[place];
      const Sequence& sequence = queries.sequence;
      const KeyTiles tiles = tiles_of(queries, shape.visibility(sequence));
      shared.wait_q_empty(q_at);
      shared.queries = queries;
      shared.head = head;
      issue_clipped_q<Tile>(shared, maps, q_at, head, sequence.first_q + queries.first_query,
                            sequence.n_q - queries.first_query);
      issue_clipped<Tile>(kv, maps, k_at, v_at, head / shape.group(), sequence.first_k,
                          sequence.n_k, tiles.begin, tiles.end, [&] { number = counter.next(); });
    }
    // endregion
    shared.wait_q_empty(q_at);
    shared.head = -1;
    ptx::mbarrier_arrive(&shared.q_full);
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
  const auto issue_own_scores = [&] {
    if constexpr (kQInRegisters) {
      attention::issue_scores<Tile>(s, q, kv.k[k_at.stage]);
    } else {
      attention::issue_scores<Tile>(s, shared.q + own_rows * 128, kv.k[k_at.stage]);
    }
  };

  // After the last scores, where Q is read in shared memory until then.
  const auto release_q_in_shared = [&] {
    if constexpr (!kQInRegisters) shared.release_q();
  };

  for (;;) {
    // region consumers
    // What is in q is told by way of shared memory.
    shared.wait_q(q_at);
    const int head = read_by_lane_0(shared.head);
    if (head < 0) break;
    const QueryTile queries = read_by_lane_0(shared.queries);
    const Sequence& sequence = queries.sequence;
    const Visibility seen = shape.visibility(sequence);
    const KeyTiles tiles = tiles_of(queries, seen);
    // endregion
    const int row = queries.first_query + row_in_tile;
    if constexpr (kQInRegisters) {
      attention::load_queries<Tile>(q, shared.q, own_rows);
      shared.release_q();
    }

    // Makes weights of the scores of `tile`. True: O must be rescaled.
    const auto weigh = [&](int tile, auto masked) {
      if constexpr (decltype(masked)::value) {
        hide_unseen<Tile::kTileN>(s, seen, {row, row + 8}, tile);
      }
      float tile_max[2];
      Softmax::max_of_rows(s, tile_max);
      const bool grown = update_max_if_grown(rows, tile_max);
      rows.exponentiate(s);
      return grown;
    };
    bool accumulate = false;  // o holds the tile of queries before
    const auto multiply_tile = [&](int tile, auto masked) {
      // Both products are issued in one turn; the scores need not wait for V.
      kv.wait_k(k_at);
      turn.wait();
      issue_own_scores();
      kv.wait_v(v_at);
      attention::issue_output<Tile>(o, p, kv.v[v_at.stage], accumulate);
      turn.pass_on();
      accumulate = true;

      // The weights, while P V is computed; it reads p until the second wait.
      ptx::wgmma_wait_group<1>();
      ptx::fence_registers(s);
      kv.release_k(k_at);
      if (tile == tiles.begin) release_q_in_shared();
      const bool grown = weigh(tile, masked);
      ptx::wgmma_wait_group<0>();
      ptx::fence_registers(o);
      kv.release_v(v_at);
      rows.template pack<T>(s, p);
      if (grown) Softmax::rescale(o, rows.correction);
    };

    // The first scores have no P V of a tile before to go with, and the last P V no scores. The
    // mask hides keys of the first tiles and, with a window, of the last ones.
    rows = {scale};
    if (tiles.begin < tiles.end) {
      int tile = tiles.end - 1;
      kv.wait_k(k_at);
      issue_own_scores();
      ptx::wgmma_wait_group<0>();
      ptx::fence_registers(s);
      kv.release_k(k_at);
      if (tile == tiles.begin) release_q_in_shared();
      weigh(tile--, std::true_type{});
      rows.template pack<T>(s, p);
      // region loops
#pragma unroll 1
      for (; tile >= tiles.begin && tile >= tiles.full_end; --tile) {
        multiply_tile(tile, std::true_type{});
      }
#pragma unroll 1
      for (; tile >= tiles.full_begin; --tile) multiply_tile(tile, std::false_type{});
#pragma unroll 1
      for (; tile >= tiles.begin; --tile) multiply_tile(tile, std::true_type{});
      // endregion
      kv.wait_v(v_at);
      attention::issue_output<Tile>(o, p, kv.v[v_at.stage], accumulate);
      ptx::wgmma_wait_group<0>();
      ptx::fence_registers(o);
      kv.release_v(v_at);
    } else {
#pragma unroll
      for (int i = 0; i < Tile::kD / 2; ++i) o[i] = 0;
      release_q_in_shared();
    }

    // The epilogue.
    float factor[2], lse[2];
    rows.finish(factor, lse);
    Softmax::rescale(o, factor);
    store_lse(t, shape.q_tokens, sequence.first_q, seen.n_q, {head, head}, {row, row + 8}, lse);
    constexpr int kBufferBytes = 64 * attention::kOColumns<Tile> * 2;
    const int first = queries.first_query + own_rows;
    store_clipped<Tile>(maps, shared.o + (warpgroup - 1) * kBufferBytes, o, warpgroup, head,
                        sequence.first_q + first, seen.n_q - first);
  }
  if (threadIdx.x % 128 == 0) ptx::bulk_wait_group<0>();  // shared memory is read until then
  if (warpgroup == 1) turn.wait();                        // nobody leaves with a turn unclaimed
#endif
}

// Device pointers, aligned to 16 bytes; shapes as Shape says.
template <class T>
void packed(const Shape& shape, const Tensors<T>& t, const Starts& starts,
            const kit::Workspace& workspace, cudaStream_t stream) {
  if (shape.q_tokens == 0) return;
  attention::with_head_dim(shape.d, [&](auto head_dim) {
    using Tile = PrefillTile<T, decltype(head_dim)::value>;
    constexpr int kShared = kit::aligned_shared_bytes<PackedShared<Tile>>();
    const auto kernel = prefill_packed_kernel<T, Tile>;
    kit::allow_shared(kernel, kShared);
    const TileList list =
        make_tile_list<Tile::kTileN>(shape, starts, Tile::kTileM, workspace, stream);
    const int most = most_query_tiles(shape, Tile::kTileM) * shape.heads;
    kernel<<<std::min(kit::multiprocessor_count(), most), Tile::kThreads, kShared, stream>>>(
        clipped_maps<Tile>(shape, t), t, shape, list, order_of_heads(shape, shape.heads),
        attention::TileCounter::of_launch(), shape.scale() * attention::kLog2E);
    CUDA_CHECK(cudaGetLastError());
  });
}

}  // namespace prefill
