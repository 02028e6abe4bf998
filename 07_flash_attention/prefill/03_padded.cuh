// padded: one launch, as large as if all sequences were as long as the longest one (sm_80).
//
// The CPU need not know the lengths: a block finds those of its sequence on the device, and leaves
// at once if the sequence has no queries for it. A block has 128 queries of a head and brings the
// K/V head that belongs to it; tiles that nobody sees are left out, those that some see in part
// are masked. What is still wrong: mma.sync, which waits for the tiles it loads; most blocks may
// have nothing to do; and an SM that got a long sequence is still at it when the others are done.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "07_flash_attention/kit/accumulators.cuh"
#include "07_flash_attention/kit/mma_attention_tile.cuh"
#include "07_flash_attention/prefill/kit/key_tiles.cuh"
#include "07_flash_attention/prefill/kit/results.cuh"
#include "07_flash_attention/prefill/shape.hpp"
#include "07_flash_attention/shape.hpp"
#include "07_flash_attention/swizzled_tile.cuh"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/ptx/mma.cuh"
#include "common/kit/swizzle.cuh"
#include "common/kit/workspace.cuh"

namespace prefill {

// Copies kRows rows of a head into a tile, from row `first` of n on; zeros after the last. rows:
// row 0; from row to row it is `pitch` elements.
template <int kD, int kRows, int kThreads, class T>
__device__ void load_rows_of_head(uint4* tile, const T* rows, std::int64_t pitch, int first,
                                  int n) {
  for (int i = threadIdx.x; i < kRows * kD / 8; i += kThreads) {
    const int row = i / (kD / 8), chunk = i % (kD / 8);
    const auto* source = reinterpret_cast<const uint4*>(rows + (first + row) * pitch) + chunk;
    tile[kit::swizzled_chunk<kD / 8>(row, chunk)] = first + row < n ? *source : uint4{};
  }
}

template <class T, int kD>
__global__ void __launch_bounds__(attention::MmaAttentionTile<kD>::kThreads)
    prefill_padded_kernel(Tensors<T> t, Shape shape, Starts starts, float scale) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  using Tile = attention::MmaAttentionTile<kD>;
  using Softmax = attention::OnlineSoftmax;
  constexpr int kTileN = Tile::kTileN, kChunks = Tile::kChunks, kGroups = Tile::kRowGroups;

  // Block (head, tile, sequence): the last queries, which see most keys, begin first.
  const int head = blockIdx.x, kv_head = head / shape.group();
  const Sequence sequence = starts.sequence(blockIdx.z);
  const int first_query = static_cast<int>(gridDim.y - 1 - blockIdx.y) * Tile::kTileM;
  if (first_query >= sequence.n_q) return;
  const Visibility seen = shape.visibility(sequence);
  const std::int64_t pitch = std::int64_t{shape.heads} * kD;
  const std::int64_t kv_pitch = std::int64_t{shape.kv_heads} * kD;
  const T* const k = t.k + sequence.first_k * kv_pitch + kv_head * kD;
  const T* const v = t.v + sequence.first_k * kv_pitch + kv_head * kD;

  // Shared memory: a tile of Q, one of K and one of V.
  extern __shared__ uint4 chunks[];
  uint4* const tile_q = chunks;
  uint4* const tile_k = tile_q + Tile::kTileM * kChunks;
  uint4* const tile_v = tile_k + kTileN * kChunks;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int first_row = warp * Tile::kWarpRows;  // of the warp, in the tile
  const auto query = [&](int g, int r) {
    return first_query + first_row + 16 * g + 8 * r + lane / 4;
  };

  // Registers: O stays, scores and weights are those of a tile of keys.
  Softmax rows[kGroups];
  float o[kGroups][kD / 2] = {};
#pragma unroll
  for (int g = 0; g < kGroups; ++g) rows[g].scale = scale;

  const auto multiply_tile = [&](int tile, bool masked) {
    __syncthreads();  // nobody reads the tiles before any more
    load_rows_of_head<kD, kTileN, Tile::kThreads>(tile_k, k, kv_pitch, tile * kTileN, seen.n_k);
    load_rows_of_head<kD, kTileN, Tile::kThreads>(tile_v, v, kv_pitch, tile * kTileN, seen.n_k);
    __syncthreads();
    // S = Q K^T.
    float s[kGroups][kTileN / 2] = {};
    attention::multiply_transposed<T, kChunks, kGroups>(s, tile_q, first_row, tile_k, lane);

    // The weights, and O += P V.
    std::uint32_t p[kGroups][kTileN / 16][4];
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      if (masked) hide_unseen<kTileN>(s[g], seen, {query(g, 0), query(g, 1)}, tile);
      float tile_max[2];
      Softmax::max_of_rows(s[g], tile_max);
      if (update_max_if_grown(rows[g], tile_max)) Softmax::rescale(o[g], rows[g].correction);
      rows[g].exponentiate(s[g]);
      rows[g].template pack<T>(s[g], p[g]);
    }
    attention::multiply_registers<T, kChunks, kGroups>(o, p, tile_v, 0, lane);
  };

  // Backwards, as in the forward pass: the tiles that need a mask come first.
  load_rows_of_head<kD, Tile::kTileM, Tile::kThreads>(
      tile_q, t.q + sequence.first_q * pitch + head * kD, pitch, first_query, seen.n_q);
  const int last_query = min(first_query + Tile::kTileM, seen.n_q) - 1;
  const KeyTiles tiles = key_tiles<kTileN>(seen, first_query, last_query);
  for (int tile = tiles.end - 1; tile >= tiles.begin; --tile) {
    multiply_tile(tile, tile < tiles.full_begin || tile >= tiles.full_end);
  }

#pragma unroll
  for (int g = 0; g < kGroups; ++g) {
    float factor[2], lse[2];
    rows[g].finish(factor, lse);
    Softmax::rescale(o[g], factor);
    store_lse(t, shape.q_tokens, sequence.first_q, seen.n_q, {head, head},
              {query(g, 0), query(g, 1)}, lse);
    for (int r = 0; r < 2; ++r) {
      if (query(g, r) >= seen.n_q) continue;
      T* const to = t.o + (sequence.first_q + query(g, r)) * pitch + head * kD;
#pragma unroll
      for (int i = 0; i < kD / 2; i += 4) {
        reinterpret_cast<std::uint32_t*>(to)[lane % 4 + i] =
            ptx::pack<T>(o[g][i + 2 * r], o[g][i + 2 * r + 1]);
      }
    }
  }
#endif
}

// Device pointers, aligned to 16 bytes; shapes as Shape says.
template <class T>
void padded(const Shape& shape, const Tensors<T>& t, const Starts& starts, const kit::Workspace&,
            cudaStream_t stream) {
  attention::with_head_dim(shape.d, [&](auto head_dim) {
    using Tile = attention::MmaAttentionTile<decltype(head_dim)::value>;
    constexpr int kShared = Tile::shared_bytes(1);
    const auto kernel = prefill_padded_kernel<T, head_dim>;
    const dim3 blocks(shape.heads, kit::divide_up(shape.longest, Tile::kTileM), shape.batch);
    if (shape.q_tokens == 0) return;
    kit::allow_shared(kernel, kShared);
    kernel<<<blocks, Tile::kThreads, kShared, stream>>>(t, shape, starts,
                                                        shape.scale() * attention::kLog2E);
    CUDA_CHECK(cudaGetLastError());
  });
}

}  // namespace prefill
