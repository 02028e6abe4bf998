// A tile of queries of a block, and its attention with the keys and values of one shard after the
// other, by mma.sync: two buffers of tiles, and O is rescaled only when it must be (`lazy_rescale`
// of attention_16bit, on the page of tensor cores).
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "07_flash_attention/kit/accumulators.cuh"
#include "07_flash_attention/kit/mma_attention_tile.cuh"
#include "07_flash_attention/shape.hpp"
#include "common/kit/ptx/mma.cuh"
#include "common/kit/swizzle.cuh"

namespace ring_attention {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
template <class T, int kD>
struct MmaQueries {
  using Tile = attention::MmaAttentionTile<kD>;
  using Softmax = attention::OnlineSoftmax;
  static constexpr int kTileN = Tile::kTileN, kChunks = Tile::kChunks, kGroups = Tile::kRowGroups;

  // Shared memory, in chunks of 16 bytes: the queries, two buffers of keys, two of values.
  uint4 *tile_q, *tile_k, *tile_v;
  int first_query;  // of the block, in its head
  Softmax rows[kGroups];
  float o[kGroups][kD / 2] = {};

  // scale: log2(e) / sqrt(d).
  __device__ __forceinline__ MmaQueries(uint4* shared, int first_query, float scale)
      : tile_q(shared),
        tile_k(tile_q + Tile::kTileM * kChunks),
        tile_v(tile_k + 2 * kTileN * kChunks),
        first_query(first_query) {
#pragma unroll
    for (int g = 0; g < kGroups; ++g) rows[g].scale = scale;
  }

  // The first row of this lane in group g.
  __device__ __forceinline__ int row(int g) const {
    return first_query + threadIdx.x / 32 * Tile::kWarpRows + 16 * g + threadIdx.x % 32 / 4;
  }

  // Issues the copy of the queries: q is a head with n rows. attend() waits for it.
  __device__ __forceinline__ void load(const T* q, int n) {
    const attention::AttentionTileCopier<kD, Tile::kThreads> copier{};
    copier.template issue<Tile::kTileM>(tile_q, q, 0, first_query, n, std::true_type{});
  }

  // region attend
  // Attention with the first n_k keys of a head. Under a causal mask query i sees keys 0 to i.
  template <bool kCausal>
  __device__ __forceinline__ void attend(const T* k, const T* v, int n_q, int n_k) {
    const attention::AttentionTileCopier<kD, Tile::kThreads> copier{};
    const attention::Mask<kCausal, kTileN> mask{n_q, n_k};
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const auto issue_k_and_v = [&](int tile, auto may_end) {
      const int buffer = tile % 2 * kTileN * kChunks;
      copier.template issue<kTileN>(tile_k + buffer, k, 0, tile * kTileN, n_k, may_end);
      copier.template issue<kTileN>(tile_v + buffer, v, 0, tile * kTileN, n_k, may_end);
    };
    const auto multiply_tile = [&](int tile, auto masked) {
      const uint4* const k_here = tile_k + tile % 2 * kTileN * kChunks;
      const uint4* const v_here = tile_v + tile % 2 * kTileN * kChunks;
      ptx::cp_async_wait<0>();
      __syncthreads();  // this tile is here, and nobody reads the other buffers any more
      if (tile > 0) issue_k_and_v(tile - 1, std::false_type{});
      ptx::cp_async_commit();

      // S = Q K^T.
      float s[kGroups][kTileN / 2] = {};
      attention::multiply_scores<T, kD>(
          s,
          [&](std::uint32_t(&q)[4], int c, int g) {
            const int query = warp * Tile::kWarpRows + 16 * g + lane % 16;
            ptx::ldmatrix_x4(q, tile_q + kit::swizzled_chunk<kChunks>(query, 2 * c + lane / 16));
          },
          [&](std::uint32_t(&fragment)[4], int c, int j) {
            const int key = 16 * j + lane / 16 * 8 + lane % 8, chunk = 2 * c + lane / 8 % 2;
            ptx::ldmatrix_x4(fragment, k_here + kit::swizzled_chunk<kChunks>(key, chunk));
          });

      // The weights.
      std::uint32_t p[kGroups][kTileN / 16][4];
#pragma unroll
      for (int g = 0; g < kGroups; ++g) {
        if constexpr (decltype(masked)::value) mask.apply(s[g], row(g), tile);
        float tile_max[2];
        Softmax::max_of_rows(s[g], tile_max);
        if (update_max_if_grown(rows[g], tile_max)) Softmax::rescale(o[g], rows[g].correction);
        rows[g].exponentiate(s[g]);
        rows[g].template pack<T>(s[g], p[g]);
      }

      // O += P V.
      attention::multiply_output<T>(o, p, [&](std::uint32_t(&fragment)[4], int j, int c) {
        const int key = 16 * j + lane % 16, chunk = 2 * c + lane / 16;
        ptx::ldmatrix_x4_trans(fragment, v_here + kit::swizzled_chunk<kChunks>(key, chunk));
      });
    };

    int tile = mask.tiles(first_query, Tile::kTileM) - 1;
    const int unmasked = mask.unmasked_tiles(first_query);
    __syncthreads();  // nobody reads the tiles of the shard before any more
    if (tile >= 0) issue_k_and_v(tile, std::true_type{});
    ptx::cp_async_commit();
    for (; tile >= unmasked; --tile) multiply_tile(tile, std::true_type{});
    for (; tile >= 0; --tile) multiply_tile(tile, std::false_type{});
  }
  // endregion

  // After the last keys: O and the log-sum-exp of a head with n rows.
  __device__ __forceinline__ void store(T* head_o, float* head_lse, int n) {
    ptx::cp_async_wait<0>();
    __syncthreads();  // without keys the queries may only be arriving now
    const attention::Tensors<T> head{nullptr, nullptr, nullptr, head_o, head_lse};
    const int first_row = first_query + threadIdx.x / 32 * Tile::kWarpRows;
    attention::store_staged<kD>(head, 0, n, first_row, tile_q, first_query, rows, o);
  }
};
#endif

}  // namespace ring_attention
