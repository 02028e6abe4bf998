// longest_first: with a causal mask the longest tiles are begun first.
//
// The last queries of a head see most keys. Begun first, and the short ones last, all SMs end at
// nearly the same time (longest processing time first). And what lies beyond the diagonal costs
// less: a warpgroup releases unread a tile of keys that only others need. What is still wrong:
// where its queries change, a warpgroup runs dry for a moment; with d = 64 and 256 it waits for Q
// there.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "07_flash_attention/kit/accumulators.cuh"
#include "07_flash_attention/kit/attention_tile.cuh"
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

template <class T, class Tile, bool kCausal>
__global__ void __launch_bounds__(Tile::kThreads, 1)
    attention_longest_first_kernel(const __grid_constant__ AttentionMaps maps, Tensors<T> t,
                                   TileOrder order, TileCounter counter, int n_q, int n_k,
                                   float scale) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  using Shared = StoringShared<Tile>;
  // Beside O there is room for Q with d = 128, not with 256; with 64 there are more warpgroups.
  constexpr bool kQInRegisters = Tile::kD == 128;
  // One thread sets up the barriers, before anybody uses them.
  extern __shared__ unsigned char dynamic_shared[];
  auto& shared = kit::aligned_shared<Shared>(dynamic_shared);
  auto& kv = shared.kv;
  if (threadIdx.x == 0) shared.init();
  __syncthreads();

  auto k_at = kv.begin(), v_at = kv.begin();
  auto q_at = shared.q_begin();
  const Mask<kCausal, Tile::kTileN> mask{n_q, n_k};

  // The producer: one thread asks for tiles of queries and has TMA bring all they need.
  const int warpgroup = threadIdx.x / 128;
  if (warpgroup == 0) {
    ptx::setmaxnreg_dec<Tile::kProducerRegisters>();
    if (threadIdx.x != 0) return;
    const int count = order.count();
    int tile_of_queries = blockIdx.x;
    while (tile_of_queries < count) {
      // Asked for as late as the answer can still come in time: who asks early holds back a tile
      // that another block could begin at once.
      int next = 0;
      int head, q_tile;
      order.locate<kCausal>(tile_of_queries, head, q_tile);
      const int first_query = q_tile * Tile::kTileM;
      shared.wait_q_empty(q_at);
      shared.tile = tile_of_queries;
      shared.issue_q(maps, q_at, first_query, head);
      kv.issue(maps, k_at, v_at, head, mask.tiles(first_query, Tile::kTileM),
               [&] { next = counter.next(); });
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
  const auto issue_own_scores = [&] {
    if constexpr (kQInRegisters) {
      issue_scores<Tile>(s, q, kv.k[k_at.stage]);
    } else {
      issue_scores<Tile>(s, shared.q + own_rows * 128, kv.k[k_at.stage]);
    }
  };
  // After the last scores, where Q is read in shared memory until then.
  const auto release_q_in_shared = [&] {
    if constexpr (!kQInRegisters) shared.release_q();
  };

  for (;;) {
    // The number of the tile comes with Q. It is read by the lane that will arrive at q_empty for
    // its warp: after that the producer writes again.
    shared.wait_q(q_at);
    const int read = threadIdx.x % 32 == 0 ? shared.tile : 0;
    const int tile_of_queries = __shfl_sync(0xffffffffu, read, 0);
    if (tile_of_queries < 0) break;
    int head, q_tile;
    order.locate<kCausal>(tile_of_queries, head, q_tile);
    const int first_query = q_tile * Tile::kTileM;
    const int row = first_query + row_in_tile;
    // Of more than two warpgroups some may have no queries: theirs all lie past the end.
    const bool rests = kCausal && Tile::kConsumers > 2 && first_query + own_rows >= n_q;
    const int tiles = rests ? 0 : mask.tiles(first_query + own_rows, 64);
    const int unmasked = mask.unmasked_tiles(first_query + own_rows);

    // Q goes to registers, so that the producer can bring the next one early.
    if constexpr (kQInRegisters) {
      load_queries<Tile>(q, shared.q, own_rows);
      shared.release_q();
    }

    // Makes weights of the scores of `tile`. True: O must be rescaled.
    const auto weigh = [&](int tile, auto masked) {
      if constexpr (decltype(masked)::value) mask.apply(s, row, tile);
      float tile_max[2];
      OnlineSoftmax::max_of_rows(s, tile_max);
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
      issue_output<Tile>(o, p, kv.v[v_at.stage], accumulate);
      turn.pass_on();
      accumulate = true;

      // The weights, while P V is computed; it reads p until the second wait.
      ptx::wgmma_wait_group<1>();
      ptx::fence_registers(s);
      kv.release_k(k_at);
      if (tile == 0) release_q_in_shared();
      const bool grown = weigh(tile, masked);
      ptx::wgmma_wait_group<0>();
      ptx::fence_registers(o);
      kv.release_v(v_at);
      rows.template pack<T>(s, p);
      if (grown) OnlineSoftmax::rescale(o, rows.correction);
    };

    // region unread
    // The last tiles of keys may be there for others alone: release them unread. The others take a
    // turn for each tile but their first, so this warpgroup must take as many.
    if constexpr (kCausal) {
      for (int tile = mask.tiles(first_query, Tile::kTileM) - 1; tile >= tiles; --tile) {
        kv.wait_k(k_at);
        __syncwarp();  // one lane releases for all: nobody waits any more
        kv.release_k(k_at);
        kv.wait_v(v_at);
        __syncwarp();
        kv.release_v(v_at);
        if (tile == 0) break;
        turn.wait();
        turn.pass_on();
      }
    }
    // endregion

    // The first scores have no P V of a tile before to go with, and the last P V no scores.
    rows = {scale};
    if (tiles > 0) {
      int tile = tiles - 1;
      kv.wait_k(k_at);
      issue_own_scores();
      ptx::wgmma_wait_group<0>();
      ptx::fence_registers(s);
      kv.release_k(k_at);
      if (tile == 0) release_q_in_shared();
      if (tile >= unmasked) {
        weigh(tile--, std::true_type{});
      } else {
        weigh(tile--, std::false_type{});
      }
      rows.template pack<T>(s, p);
#pragma unroll 1
      for (; tile >= 0 && tile >= unmasked; --tile) multiply_tile(tile, std::true_type{});
#pragma unroll 1
      for (; tile >= 0; --tile) multiply_tile(tile, std::false_type{});
      kv.wait_v(v_at);
      issue_output<Tile>(o, p, kv.v[v_at.stage], accumulate);
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
    OnlineSoftmax::rescale(o, factor);
    shared.store(maps, t, o, lse, warpgroup, head, first_query, row, n_q);
  }
  if (threadIdx.x % 128 == 0) ptx::bulk_wait_group<0>();  // shared memory is read until then
  if (warpgroup == 1) turn.wait();                        // nobody leaves with a turn unclaimed
#endif
}

template <class Tile, bool kCausal>
void launch_longest_first(const Shape& shape, const Tensors<typename Tile::Element>& t,
                          cudaStream_t stream) {
  constexpr int kShared = kit::aligned_shared_bytes<StoringShared<Tile>>();
  const auto kernel = attention_longest_first_kernel<typename Tile::Element, Tile, kCausal>;
  kit::allow_shared(kernel, kShared);
  const TileOrder order = TileOrder::of(shape, Tile::kTileM);
  kernel<<<std::min(kit::multiprocessor_count(), order.count()), Tile::kThreads, kShared, stream>>>(
      tensor_maps<Tile>(shape, t), t, order, TileCounter::of_launch(), static_cast<int>(shape.n_q),
      static_cast<int>(shape.n_k), shape.scale() * kLog2E);
  CUDA_CHECK(cudaGetLastError());
}

// Device pointers, aligned to 16 bytes; shapes as Shape says.
template <class T>
void longest_first(const Shape& shape, const Tensors<T>& t, cudaStream_t stream) {
  with_head_dim(shape.d, shape.causal, [&](auto head_dim, auto causal) {
    if constexpr (head_dim == 64) {
      // O is small: three warpgroups fit, or four with small tiles, which few keys want. But rows
      // past the end are computed, too: a tile must fit the queries.
      const auto rows = [&](int tile) { return kit::divide_up(shape.n_q, tile) * tile; };
      if (shape.n_k <= 1024 && rows(256) <= rows(192)) {
        launch_longest_first<AttentionTile<T, 64, 4, 64, 4>, causal>(shape, t, stream);
      } else if (10 * rows(192) <= 11 * rows(128)) {
        launch_longest_first<AttentionTile<T, 64, 3, 128, 3>, causal>(shape, t, stream);
      } else {
        launch_longest_first<AttentionTile<T, 64, 2, 128, 3>, causal>(shape, t, stream);
      }
    } else {
      // With d = 256 there is room for tiles of 80 keys, as in `persistent`, or for 64 and half of
      // O.
      using Tile = AttentionTile<T, head_dim, 2, head_dim == 256 ? 64 : 128, 2>;
      launch_longest_first<Tile, causal>(shape, t, stream);
    }
  });
}

}  // namespace attention
