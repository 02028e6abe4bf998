// How TMA feeds the rungs from 8 on: the tensors as it sees them, and the stages in shared memory
// that one thread has it fill.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/backward/kit/row_facts.cuh"
#include "07_flash_attention/backward/shape.hpp"
#include "common/kit/launch.cuh"
#include "common/kit/pipeline.cuh"
#include "common/kit/ptx/mbarrier.cuh"
#include "common/kit/ptx/tma.cuh"
#include "common/kit/tensor_map.cuh"

namespace backward {

struct TensorMaps {
  CUtensorMap q, k, v, d_o;
};

// Rows past the end of a head arrive as zeros, never as rows of the next head.
template <class Tile>
TensorMaps tensor_maps(const Shape& shape, const Tensors<typename Tile::Element>& t) {
  const auto map = [](const auto* base, std::int64_t heads, std::int64_t n, int rows) {
    const auto size = [](std::int64_t x) { return static_cast<std::uint64_t>(x); };
    constexpr int kD = Tile::kD;
    return kit::tensor_map(base, {64, size(n), kD / 64, size(heads)},
                           {kD * 2, 128, size(n * kD * 2)},
                           {64, static_cast<std::uint32_t>(rows), kD / 64, 1});
  };
  return {map(t.q, shape.all_heads(), shape.n_q, Tile::kQueries),
          map(t.k, shape.all_kv_heads(), shape.n_k, Tile::kKeys),
          map(t.v, shape.all_kv_heads(), shape.n_k, Tile::kKeys),
          map(t.d_o, shape.all_heads(), shape.n_q, Tile::kQueries)};
}

// What a block goes through: a step is a tile of queries of one of the heads that share its keys.
// Tiles of queries that see none of the keys are left out.
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

// Stages of one of Q and dO with what belongs to its rows, the log-sum-exp or D.
template <class Tile, int kStages>
struct QueryRing {
  alignas(1024) unsigned char tile[kStages][Tile::kQueryBytes];
  alignas(16) float fact[kStages][Tile::kQueries];
  std::uint64_t full[kStages], empty[kStages];
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// The producer: has the stage filled as soon as it is empty.
template <class Tile, int kStages>
__device__ __forceinline__ void send_queries(QueryRing<Tile, kStages>& ring,
                                             const kit::PipelineState<kStages>& at,
                                             const CUtensorMap& map, const float* facts, int pitch,
                                             std::int64_t head, int first_row) {
  kit::wait_empty(ring.empty, at);
  std::uint64_t* full = &ring.full[at.stage];
  ptx::mbarrier_arrive_expect_tx(full, Tile::kQueryBytes + Tile::kQueries * sizeof(float));
  ptx::tensor_load(ring.tile[at.stage], &map, 0, first_row, 0, static_cast<int>(head), full);
  ptx::cp_async_bulk(ring.fact[at.stage], facts + head * pitch + first_row,
                     Tile::kQueries * sizeof(float), full);
}

// Both tiles of keys, which stay.
template <class Tile>
__device__ __forceinline__ void send_keys(unsigned char* k, unsigned char* v,
                                          const TensorMaps& maps, const Steps<Tile>& steps,
                                          std::uint64_t* full) {
  ptx::mbarrier_arrive_expect_tx(full, 2 * Tile::kKeyBytes);
  const int head = static_cast<int>(steps.kv_head);
  ptx::tensor_load(k, &maps.k, 0, steps.first_key, 0, head, full);
  ptx::tensor_load(v, &maps.v, 0, steps.first_key, 0, head, full);
}
#endif

}  // namespace backward
