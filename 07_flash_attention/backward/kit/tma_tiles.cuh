// What TMA brings: the tensors as it sees them, the stages in shared memory, and the one thread
// that has it fill them.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/backward/kit/pairs.cuh"
#include "07_flash_attention/backward/kit/row_stats.cuh"
#include "07_flash_attention/backward/shape.hpp"
#include "common/kit/pipeline.cuh"
#include "common/kit/ptx/tma.cuh"
#include "common/kit/tensor_map.cuh"

namespace backward {

struct GradientMaps {
  CUtensorMap q, k, v, d_o;
};

// Rows past the end of a head arrive as zeros, never as rows of the next head.
template <class Tile>
GradientMaps tensor_maps(const Arguments<typename Tile::Element>& args) {
  const Shape& shape = args.shape;
  const auto map = [](const auto* base, std::uint64_t heads, std::uint64_t n, std::uint32_t rows) {
    constexpr int kD = Tile::kD, kSlabs = kD / 64;
    return kit::tensor_map(base, {64, n, kSlabs, heads}, {kD * 2, 128, n * kD * 2},
                           {64, rows, kSlabs, 1});
  };
  return {map(args.q, shape.all_heads(), shape.n_q, Tile::kTileM),
          map(args.k, shape.all_kv_heads(), shape.n_k, Tile::kTileN),
          map(args.v, shape.all_kv_heads(), shape.n_k, Tile::kTileN),
          map(args.d_o, shape.all_heads(), shape.n_q, Tile::kTileM)};
}

// Stages of one of Q and dO with what belongs to its rows, the log-sum-exp or D. In shared memory.
template <class Tile, int kStages>
struct QueryRing {
  using State = kit::PipelineState<kStages>;

  alignas(1024) unsigned char tile[kStages][Tile::kQueryBytes];
  alignas(16) float stat[kStages][Tile::kTileM];
  std::uint64_t full[kStages], empty[kStages];

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  // By one thread, before ptx::fence_mbarrier_init() and a barrier of the block, as all that has an
  // init() here. All 256 threads that compute release a stage.
  __device__ __forceinline__ void init() { kit::init_stages(full, empty, 256); }

  // Where the producer and the warps that compute begin.
  static __device__ __forceinline__ State begin() { return {}; }

  // region send
  // By one thread: has the stage filled, which nobody needs any more. stats: of all rows.
  __device__ __forceinline__ void send(const State& at, const CUtensorMap& map, const float* stats,
                                       int pitch, std::int64_t head, int first_row) {
    constexpr int kStatBytes = Tile::kTileM * sizeof(float);
    std::uint64_t* barrier = &full[at.stage];
    ptx::mbarrier_arrive_expect_tx(barrier, Tile::kQueryBytes + kStatBytes);
    ptx::tensor_load(tile[at.stage], &map, 0, first_row, 0, static_cast<int>(head), barrier);
    ptx::cp_async_bulk(stat[at.stage], stats + head * pitch + first_row, kStatBytes, barrier);
  }
  // endregion

  // Those that compute: until the stage is here; a thread has no more use for it. Each thread
  // releases for itself, for each has read `stat` with loads of its own.
  __device__ __forceinline__ void wait(const State& at) { kit::wait_full(full, at); }
  __device__ __forceinline__ void release(const State& at) {
    ptx::mbarrier_arrive(&empty[at.stage]);
  }
#endif
};

// Says when the block's keys and values are there, which come once and stay. In shared memory.
struct KeyBarrier {
  std::uint64_t full;

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  __device__ __forceinline__ void init() { ptx::mbarrier_init(&full, 1); }
  // By one thread: has both tiles brought.
  template <class Tile>
  __device__ __forceinline__ void send(unsigned char* k, unsigned char* v, const GradientMaps& maps,
                                       const TileRange<Tile>& steps) {
    ptx::mbarrier_arrive_expect_tx(&full, 2 * Tile::kKeyBytes);
    const int head = static_cast<int>(steps.kv_head);
    ptx::tensor_load(k, &maps.k, 0, steps.first_key, 0, head, &full);
    ptx::tensor_load(v, &maps.v, 0, steps.first_key, 0, head, &full);
  }
  __device__ __forceinline__ void wait() { kit::wait(&full, 0); }
#endif
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// All that a thread does that feeds others: the keys, and the queries of each step, once all who
// compute have released the stage. Range: TileRange, or what goes through them in another order.
template <class Shared, class Range>
__device__ __forceinline__ void produce(Shared& shared, kit::PipelineState<2>& at,
                                        const GradientMaps& maps, const RowStats& rows,
                                        const Range& steps) {
  shared.keys_full.send(shared.k, shared.v, maps, steps);
  for (int step = 0; step < steps.count(); ++step) {
    const std::int64_t head = steps.head(step);
    const int first_row = steps.first_row(step);
    kit::wait_empty(shared.q.empty, at);
    shared.q.send(at, maps.q, rows.lse2, rows.pitch, head, first_row);
    kit::wait_empty(shared.d_o.empty, at);
    shared.d_o.send(at, maps.d_o, rows.delta, rows.pitch, head, first_row);
    at.next();
  }
}
#endif

}  // namespace backward
