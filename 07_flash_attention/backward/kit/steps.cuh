// The steps in which a block goes through the queries that see its keys.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/backward/shape.hpp"
#include "common/kit/launch.cuh"

namespace backward {

// A step is a tile of queries of one of the heads that share the block's keys. Tiles of queries
// that see none of these keys are left out.
template <class Tile>
struct Steps {
  std::int64_t kv_head;
  int key_tile, first_key, first_tile, tiles, group;

  static __host__ __device__ int key_tiles(const Shape& shape) {
    return kit::divide_up(shape.n_k, Tile::kKeys);
  }

  // A block takes the tile of keys that its index says, one head after the other; or another one.
  __device__ __forceinline__ explicit Steps(const Shape& shape)
      : Steps(shape, blockIdx.x / key_tiles(shape), blockIdx.x % key_tiles(shape)) {}
  __device__ __forceinline__ Steps(const Shape& shape, std::int64_t kv_head, int key_tile)
      : kv_head(kv_head), key_tile(key_tile), first_key(key_tile * Tile::kKeys) {
    first_tile = shape.first_row(first_key) / Tile::kQueries;
    tiles = max(0, kit::divide_up(shape.n_q, Tile::kQueries) - first_tile);
    group = shape.group();
  }

  // Of any block. In bands heads are begun together: the first blocks take their first tiles of
  // keys, the next ones their second tiles, and so on. Of 16 heads, 132 SMs have some eight tiles
  // each at a time, which share the head's queries in L2.
  template <int kBand = 16>
  static __device__ __forceinline__ Steps of(const Shape& shape, int block, bool in_bands) {
    const int tiles = key_tiles(shape);
    std::int64_t kv_head;
    int key_tile;
    if (in_bands) {
      // region band
      const int first = block / (kBand * tiles) * kBand;
      const auto heads = static_cast<int>(min(std::int64_t{kBand}, shape.all_kv_heads() - first));
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
      row += Tile::kQueries;
      if (row < end) return;
      row = first;
      ++head;
    }
  };
  __device__ __forceinline__ At begin() const {
    const int first = first_tile * Tile::kQueries;
    return {kv_head * group, first, first, first + tiles * Tile::kQueries};
  }

  __device__ __forceinline__ int count() const { return group * tiles; }
  __device__ __forceinline__ std::int64_t head(int step) const {
    return kv_head * group + step / tiles;
  }
  __device__ __forceinline__ int first_row(int step) const {
    return (first_tile + step % tiles) * Tile::kQueries;
  }
};

}  // namespace backward
