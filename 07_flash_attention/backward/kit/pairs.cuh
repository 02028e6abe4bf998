// Pairs of a query and a key: the steps in which a block goes through the queries that see its
// keys, and what is done to a tile of pairs between the products.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/backward/kit/row_stats.cuh"
#include "07_flash_attention/backward/shape.hpp"
#include "07_flash_attention/shape.hpp"
#include "common/kit/launch.cuh"
#include "common/kit/ptx/mma.cuh"

namespace backward {

// A step is a tile of queries of one of the heads that share the block's keys. Tiles of queries
// that see none of these keys are left out.
template <class Tile>
struct TileRange {
  std::int64_t kv_head;
  int key_tile, first_key, first_tile, tiles, group;

  static __host__ __device__ int key_tiles(const Shape& shape) {
    return kit::divide_up(shape.n_k, Tile::kTileN);
  }

  // A block takes the tile of keys that its index says, one head after the other; or another one.
  __device__ __forceinline__ explicit TileRange(const Shape& shape)
      : TileRange(shape, blockIdx.x / key_tiles(shape), blockIdx.x % key_tiles(shape)) {}
  __device__ __forceinline__ TileRange(const Shape& shape, std::int64_t kv_head, int key_tile)
      : kv_head(kv_head), key_tile(key_tile), first_key(key_tile * Tile::kTileN) {
    first_tile = shape.first_row(first_key) / Tile::kTileM;
    tiles = max(0, kit::divide_up(shape.n_q, Tile::kTileM) - first_tile);
    group = shape.group();
  }

  // Of any block. band: how many heads are begun together; 0: one head after the other. The first
  // blocks of a band take the first tiles of keys of its heads, the next ones their second tiles,
  // and so on. Of 16 heads, 132 SMs have some eight tiles each at a time, which share the head's
  // queries in L2.
  static __device__ __forceinline__ TileRange of(const Shape& shape, int block, int band) {
    const int tiles = key_tiles(shape);
    std::int64_t kv_head;
    int key_tile;
    if (band > 0) {
      // region band
      const int first = block / (band * tiles) * band;
      const auto heads = static_cast<int>(min(std::int64_t{band}, shape.all_kv_heads() - first));
      const int at = block - first * tiles;
      kv_head = first + at % heads;
      key_tile = at / heads;
      // endregion
    } else {
      kv_head = block / tiles;
      key_tile = block % tiles;
    }
    return {shape, kv_head, key_tile};
  }

  // Where a block is on its way through them. (head() and first_row() below divide.)
  struct At {
    std::int64_t head;
    int row, first, end;

    __device__ __forceinline__ void next() {
      row += Tile::kTileM;
      if (row < end) return;
      row = first;
      ++head;
    }
  };
  __device__ __forceinline__ At begin() const {
    const int first = first_tile * Tile::kTileM;
    return {kv_head * group, first, first, first + tiles * Tile::kTileM};
  }

  __device__ __forceinline__ int count() const { return group * tiles; }
  __device__ __forceinline__ std::int64_t head(int step) const {
    return kv_head * group + step / tiles;
  }
  __device__ __forceinline__ int first_row(int step) const {
    return (first_tile + step % tiles) * Tile::kTileM;
  }
};

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
// A tile of pairs is an accumulator of mma or wgmma with keys as rows: register i of lane l belongs
// to key l / 4 + 8 (i / 2 % 2) of its warp's, and to this query of the tile.
__device__ __forceinline__ int query_of_register(int i) {
  return 8 * (i / 4) + 2 * (threadIdx.x % 4) + i % 2;
}

// Scores become weights, P = exp(S - lse). lse2: of the tile's queries.
template <int kCount>
__device__ __forceinline__ void to_weights(float (&s)[kCount], const float* lse2,
                                           const Shape& shape) {
  const float scale2 = attention::kLog2E * shape.scale();
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    s[i] = ptx::ex2(fmaf(s[i], scale2, -lse2[query_of_register(i)]));
  }
}

// Weights of pairs that do not see each other become 0. first_row: the tile's first query; key:
// this lane's first.
template <int kCount>
__device__ __forceinline__ void apply_mask(float (&p)[kCount], const Shape& shape, int first_row,
                                           int key) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    if (!shape.sees(first_row + query_of_register(i), key + 8 * (i / 2 % 2))) p[i] = 0;
  }
}

// Both: the scores of a step become weights. key: this lane's first.
template <class Tile, int kCount>
__device__ __forceinline__ void weigh(float (&s)[kCount], const float* lse2, const Shape& shape,
                                      const TileRange<Tile>& steps, int first_row, int key) {
  to_weights(s, lse2, shape);
  const bool all_seen = shape.sees(first_row, steps.first_key + Tile::kTileN - 1);
  if (!all_seen) apply_mask(s, shape, first_row, key);
}

// dP becomes dS = P (dP - D). delta: D of the tile's queries.
template <int kCount>
__device__ __forceinline__ void to_score_gradients(float (&dp)[kCount], const float (&p)[kCount],
                                                   const float* delta) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) dp[i] = p[i] * (dp[i] - delta[query_of_register(i)]);
}

// Rounded to T as operand A of the next product, 16 queries at a time: the layouts match, so no
// lane needs anything of another.
template <class T, int kCount>
__device__ __forceinline__ void to_operand(const float (&c)[kCount],
                                           std::uint32_t (&a)[kCount / 8][4]) {
#pragma unroll
  for (int i = 0; i < kCount; i += 2) a[i / 8][i / 2 % 4] = ptx::pack<T>(c[i], c[i + 1]);
}

// Writes factor c, an accumulator whose rows are keys, to rows `key` and `key` + 8 of `to`, a
// matrix of n rows of kD, from column `col` on. Two neighbouring elements at a time.
template <int kD, class T, int kCount>
__device__ __forceinline__ void store_keys(T* to, const float (&c)[kCount], int key, int n, int col,
                                           float factor) {
#pragma unroll
  for (int i = 0; i < kCount; i += 2) {
    const int row = key + 8 * (i / 2 % 2);
    if (row >= n) continue;
    *reinterpret_cast<std::uint32_t*>(to + row * kD + col + query_of_register(i)) =
        ptx::pack<T>(factor * c[i], factor * c[i + 1]);
  }
}
#endif

}  // namespace backward
