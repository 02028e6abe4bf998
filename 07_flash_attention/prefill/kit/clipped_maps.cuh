// Tensor maps that know where a sequence ends, though one map serves all sequences.
//
// TMA leaves out what lies outside of a tensor, and only that: rows after the last token of a
// sequence are those of the next one. So the map has two dimensions of tokens that both go on by
// one token: `row` of a box, which is bounded, and the token behind the last one that counts. A box
// of which the last tokens do not belong to the sequence begins so far on in the bounded dimension
// that these fall out of it. They arrive as zeros, and are not stored.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "07_flash_attention/kit/attention_tile.cuh"
#include "07_flash_attention/kit/persistent_shared.cuh"
#include "07_flash_attention/prefill/shape.hpp"
#include "common/kit/pipeline.cuh"
#include "common/kit/ptx/mma.cuh"
#include "common/kit/ptx/roles.cuh"
#include "common/kit/ptx/tma.cuh"
#include "common/kit/tensor_map.cuh"

namespace prefill {

// region map
// Q and O, [tokens, heads, d], in boxes of `slabs` slabs of 64 columns, of `box_heads` heads of
// `box_tokens` tokens. Dimensions, the contiguous one first: 64 columns, heads, the token in a box,
// slabs, and the token behind the last one of the box that counts.
template <class T>
CUtensorMap clipped_map(const T* base, std::uint64_t tokens, std::uint64_t heads, std::uint64_t d,
                        std::uint32_t box_tokens, std::uint32_t box_heads, std::uint32_t slabs) {
  const std::uint64_t pitch = heads * d;
  return kit::tensor_map(base - box_tokens * pitch, {64, heads, box_tokens, d / 64, tokens + 1},
                         {d * 2, pitch * 2, 128, pitch * 2}, {64, box_heads, box_tokens, slabs, 1});
}
// endregion

// The same of K and V in boxes of one head, whose tokens come before the heads, so that they are
// many in the innermost loop.
template <class T>
CUtensorMap clipped_map_of_keys(const T* base, std::uint64_t tokens, std::uint64_t heads,
                                std::uint64_t d, std::uint32_t box_tokens, std::uint32_t slabs) {
  const std::uint64_t pitch = heads * d;
  return kit::tensor_map(base - box_tokens * pitch, {64, box_tokens, d / 64, heads, tokens + 1},
                         {pitch * 2, 128, d * 2, pitch * 2}, {64, box_tokens, slabs, 1, 1});
}

// region box
// Where the box of tokens from `first` on begins, if only `count` of them belong to the sequence.
// If none does, the first token of all comes instead: on an H200 a box wholly outside was an
// illegal address. Probably it looks at the map's base, which lies before the array.
struct ClippedBox {
  int row, behind;
};
__device__ __forceinline__ ClippedBox clipped_box(int box_tokens, int first, int count) {
  const int inside = max(1, min(count, box_tokens));
  return {box_tokens - inside, count > 0 ? first + inside : 1};
}
// endregion

// heads: of a token, that lie side by side in a tile of queries; a power of two.
template <class Tile>
attention::AttentionMaps clipped_maps(const Shape& shape, const Tensors<typename Tile::Element>& t,
                                      int heads = 1) {
  constexpr int kD = Tile::kD, kSlabs = kD / 64;
  return {clipped_map(t.q, shape.q_tokens, shape.heads, kD, Tile::kTileM / heads, heads, kSlabs),
          clipped_map_of_keys(t.k, shape.k_tokens, shape.kv_heads, kD, Tile::kTileN, kSlabs),
          clipped_map_of_keys(t.v, shape.k_tokens, shape.kv_heads, kD, Tile::kTileN, kSlabs),
          clipped_map(t.o, shape.q_tokens, shape.heads, kD, 64 / heads, heads, 1)};
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
// Queries for the buffer of a persistent block: `heads` heads from `head` on of the tokens from
// `first` on, of which `count` belong to the sequence. By one thread.
template <class Tile, class Shared>
__device__ __forceinline__ void issue_clipped_q(Shared& shared,
                                                const attention::AttentionMaps& maps,
                                                typename Shared::QState& at, int head, int first,
                                                int count, int heads = 1) {
  const ClippedBox box = clipped_box(Tile::kTileM / heads, first, count);
  ptx::mbarrier_arrive_expect_tx(&shared.q_full, Tile::kQBytes);
  ptx::tensor_load(shared.q, &maps.q, 0, head, box.row, 0, box.behind, &shared.q_full);
  at.next();
}

// The producer's part in a tile of queries: tiles `begin` to `end` - 1 of a sequence's keys and
// values, the last one first, as attention::KvPipeline::issue. first: the sequence's first key of
// all; n: how many it has. By one thread.
template <class Tile, class State, class BeforeLast>
__device__ __forceinline__ void issue_clipped(attention::KvPipeline<Tile>& kv,
                                              const attention::AttentionMaps& maps, State& k_at,
                                              State& v_at, int kv_head, int first, int n, int begin,
                                              int end, BeforeLast before_last) {
  const auto issue = [&](const CUtensorMap& map, auto& to, auto& full, auto& empty, State& at,
                         int tile) {
    const int key = tile * Tile::kTileN;
    const ClippedBox box = clipped_box(Tile::kTileN, first + key, n - key);
    kit::wait_empty(empty, at);
    ptx::mbarrier_arrive_expect_tx(&full[at.stage], Tile::kKvBytes);
    ptx::tensor_load(to[at.stage], &map, 0, box.row, 0, kv_head, box.behind, &full[at.stage]);
    at.next();
  };
  const auto issue_k = [&](int i) { issue(maps.k, kv.k, kv.k_full, kv.k_empty, k_at, i); };
  const auto issue_v = [&](int i) { issue(maps.v, kv.v, kv.v_full, kv.v_empty, v_at, i); };
  if (begin < end) issue_k(end - 1);
  for (int tile = end - 1; tile > begin; --tile) {
    issue_k(tile - 1);
    issue_v(tile);
  }
  before_last();
  if (begin < end) issue_v(begin);
}
#endif

}  // namespace prefill
