// What a block goes through: a step is a tile of queries of one of the heads that share its keys.
// Tiles of queries that see none of the keys are left out.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/backward/kit/row_facts.cuh"
#include "07_flash_attention/backward/shape.hpp"
#include "common/kit/launch.cuh"
#include "common/kit/ptx/mma.cuh"

namespace backward {

template <class Tile>
struct Steps {
  std::int64_t kv_head;
  int first_key, first_tile, tiles, group;

  static __host__ __device__ int key_tiles(const Shape& shape) {
    return kit::divide_up(shape.n_k, Tile::kKeys);
  }

  // A block takes the tile of keys that its index says, or another one.
  __device__ __forceinline__ explicit Steps(const Shape& shape)
      : Steps(shape, blockIdx.x / key_tiles(shape), blockIdx.x % key_tiles(shape)) {}
  __device__ __forceinline__ Steps(const Shape& shape, std::int64_t kv_head, int key_tile)
      : kv_head(kv_head), first_key(key_tile * Tile::kKeys) {
    first_tile = shape.first_row(first_key) / Tile::kQueries;
    tiles = max(0, kit::divide_up(shape.n_q, Tile::kQueries) - first_tile);
    group = shape.group();
  }

  __device__ __forceinline__ int count() const { return group * tiles; }
  __device__ __forceinline__ std::int64_t head(int step) const {
    return kv_head * group + step / tiles;
  }
  __device__ __forceinline__ int first_row(int step) const {
    return (first_tile + step % tiles) * Tile::kQueries;
  }
};

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
// Issues the copies of what belongs to the rows of a step: their log-sum-exp and D, to the one of
// two buffers that is the step's. Four rows a thread.
template <class Tile, class Shared>
__device__ __forceinline__ void copy_facts(Shared& shared, const RowFacts& rows,
                                           const Steps<Tile>& steps, int step) {
  const int i = threadIdx.x * 4;
  if (i >= Tile::kQueries) return;
  const std::int64_t at = steps.head(step) * rows.pitch + steps.first_row(step) + i;
  ptx::cp_async_16(&shared.lse2[step % 2][i], rows.lse2 + at);
  ptx::cp_async_16(&shared.mean[step % 2][i], rows.mean + at);
}
#endif

}  // namespace backward
