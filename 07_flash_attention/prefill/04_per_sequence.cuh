// per_sequence: the forward pass's kernel, launched for one sequence after the other (sm_90a).
//
// Tensor maps are made for each launch: they begin where the sequence begins and end where it ends,
// so TMA fills up with zeros and stores nothing past the end; from token to token it is a row of
// all heads. A head reads the keys and values of its K/V head. What is still wrong: the CPU must
// know the lengths, and while a short sequence is computed most SMs have nothing to do.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "07_flash_attention/kit/accumulators.cuh"
#include "07_flash_attention/kit/attention_tile.cuh"
#include "07_flash_attention/kit/persistent_shared.cuh"
#include "07_flash_attention/prefill/kit/key_tiles.cuh"
#include "07_flash_attention/prefill/kit/prefill_tile.cuh"
#include "07_flash_attention/prefill/kit/results.cuh"
#include "07_flash_attention/prefill/shape.hpp"
#include "07_flash_attention/shape.hpp"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/pipeline.cuh"
#include "common/kit/ptx/roles.cuh"
#include "common/kit/ptx/tma.cuh"
#include "common/kit/ptx/wgmma.cuh"
#include "common/kit/tensor_map.cuh"

namespace prefill {

// The tensors of a sequence: as attention::tensor_maps, but the heads of a token are neighbours.
template <class Tile>
attention::AttentionMaps maps_of_sequence(const Shape& shape, const Sequence& sequence,
                                          const Tensors<typename Tile::Element>& t) {
  const auto map = [](const auto* base, int first, int n, int heads, int rows, int slabs) {
    const auto pitch = std::uint64_t{2} * heads * Tile::kD;
    return kit::tensor_map(
        base + std::int64_t{first} * heads * Tile::kD,
        {64, static_cast<std::uint64_t>(std::max(n, 1)), Tile::kD / 64,
         static_cast<std::uint64_t>(heads)},
        {pitch, 128, Tile::kD * 2},
        {64, static_cast<std::uint32_t>(rows), static_cast<std::uint32_t>(slabs), 1});
  };
  constexpr int kSlabs = Tile::kD / 64;
  const auto& [first_q, n_q, first_k, n_k] = sequence;
  return {map(t.q, first_q, n_q, shape.heads, Tile::kTileM, kSlabs),
          map(t.k, first_k, n_k, shape.kv_heads, Tile::kTileN, kSlabs),
          map(t.v, first_k, n_k, shape.kv_heads, Tile::kTileN, kSlabs),
          map(t.o, first_q, n_q, shape.heads, 64, 1)};
}

template <class T, class Tile>
__global__ void __launch_bounds__(Tile::kThreads, 1)
    prefill_per_sequence_kernel(const __grid_constant__ attention::AttentionMaps maps, Tensors<T> t,
                                Shape shape, Sequence sequence, float scale) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  using Softmax = attention::OnlineSoftmax;
  constexpr bool kQInRegisters = Tile::kD == 128;
  // One thread sets up the barriers, before anybody uses them.
  extern __shared__ unsigned char dynamic_shared[];
  auto& shared = kit::aligned_shared<attention::StoringShared<Tile>>(dynamic_shared);
  auto& kv = shared.kv;
  if (threadIdx.x == 0) shared.init();
  __syncthreads();

  auto k_at = kv.begin(), v_at = kv.begin();
  auto q_at = shared.q_begin();
  const Visibility seen = shape.visibility(sequence);
  // A block has every gridDim-th tile of queries of all heads, those with most keys first.
  const int q_tiles = kit::divide_up(seen.n_q, Tile::kTileM), count = q_tiles * shape.heads;
  const auto first_query_of = [&](int number) {
    return (q_tiles - 1 - number / shape.heads) * Tile::kTileM;
  };
  const auto tiles_of = [&](int first_query) {
    const int last = min(first_query + Tile::kTileM, seen.n_q) - 1;
    return key_tiles<Tile::kTileN>(seen, first_query, last);  // but all before a window, too
  };

  // The producer: one thread has TMA bring all that the block's tiles of queries need.
  const int warpgroup = threadIdx.x / 128;
  if (warpgroup == 0) {
    ptx::setmaxnreg_dec<Tile::kProducerRegisters>();
    if (threadIdx.x != 0) return;
    for (int number = blockIdx.x; number < count; number += gridDim.x) {
      const int head = number % shape.heads, first_query = first_query_of(number);
      shared.wait_q_empty(q_at);
      shared.issue_q(maps, q_at, first_query, head);
      kv.issue(maps, k_at, v_at, head / shape.group(), tiles_of(first_query).end, [] {});
    }
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

  for (int number = blockIdx.x; number < count; number += gridDim.x) {
    shared.wait_q(q_at);
    const int head = number % shape.heads, first_query = first_query_of(number);
    const KeyTiles tiles = tiles_of(first_query);
    const int row = first_query + row_in_tile;
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
      if (tile == 0) release_q_in_shared();
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
    if (tiles.end > 0) {
      int tile = tiles.end - 1;
      kv.wait_k(k_at);
      issue_own_scores();
      ptx::wgmma_wait_group<0>();
      ptx::fence_registers(s);
      kv.release_k(k_at);
      if (tile == 0) release_q_in_shared();
      weigh(tile--, std::true_type{});
      rows.template pack<T>(s, p);
#pragma unroll 1
      for (; tile >= 0 && tile >= tiles.full_end; --tile) multiply_tile(tile, std::true_type{});
#pragma unroll 1
      for (; tile >= tiles.full_begin; --tile) multiply_tile(tile, std::false_type{});
#pragma unroll 1
      for (; tile >= 0; --tile) multiply_tile(tile, std::true_type{});
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
    constexpr int kColumns = attention::kOColumns<Tile>;
    unsigned char* const buffer = shared.o + (warpgroup - 1) * 64 * kColumns * 2;
    const int first = first_query + own_rows;
    attention::issue_store<Tile, 0, kColumns>(maps, buffer, o, warpgroup, head, first, seen.n_q);
    if constexpr (kColumns < Tile::kD) {
      attention::issue_store<Tile, kColumns, kColumns>(maps, buffer, o, warpgroup, head, first,
                                                       seen.n_q);
    }
  }
  if (threadIdx.x % 128 == 0) ptx::bulk_wait_group<0>();  // shared memory is read until then
  if (warpgroup == 1) turn.wait();                        // nobody leaves with a turn unclaimed
#endif
}

// Device pointers, aligned to 16 bytes; shapes as Shape says. starts: in host memory.
template <class T>
void per_sequence(const Shape& shape, const Tensors<T>& t, const Starts& starts,
                  cudaStream_t stream) {
  attention::with_head_dim(shape.d, [&](auto head_dim) {
    using Tile = PrefillTile<T, decltype(head_dim)::value>;
    constexpr int kShared = kit::aligned_shared_bytes<attention::StoringShared<Tile>>();
    const auto kernel = prefill_per_sequence_kernel<T, Tile>;
    kit::allow_shared(kernel, kShared);
    for (int i = 0; i < shape.batch; ++i) {
      const Sequence sequence = starts.sequence(i);
      const int tiles = kit::divide_up(sequence.n_q, Tile::kTileM) * shape.heads;
      if (tiles == 0) continue;
      kernel<<<std::min(kit::multiprocessor_count(), tiles), Tile::kThreads, kShared, stream>>>(
          maps_of_sequence<Tile>(shape, sequence, t), t, shape, sequence,
          shape.scale() * attention::kLog2E);
      CUDA_CHECK(cudaGetLastError());
    }
  });
}

}  // namespace prefill
