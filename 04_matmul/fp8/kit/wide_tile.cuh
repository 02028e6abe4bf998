// The tile of the rungs that keep sums beside accumulators, and the loads that fill its ring.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/fp8/kit/fp8_tile.cuh"
#include "04_matmul/kit/cluster.cuh"
#include "04_matmul/kit/scaling.cuh"
#include "04_matmul/kit/scheduler.cuh"
#include "common/kit/pipeline.cuh"
#include "common/kit/ptx/cluster.cuh"
#include "common/kit/ptx/tma.cuh"

namespace matmul::fp8 {

// 64 kHalves rows a consumer warpgroup, two of them, and 128 columns: as many as share a scale of
// B's blocks. A thread's registers: 64 accumulators, and 64 kHalves sums.
template <int kHalves_, int kStages_>
struct WideTile {
  static constexpr int kHalves = kHalves_, kStages = kStages_;
  static constexpr int kTileM = 2 * 64 * kHalves, kTileN = kScaleBlock;
  static constexpr int kBytesA = kTileM * kRowBytes, kBytesB = kTileN * kRowBytes;
  static constexpr int kStageBytes = kBytesA + kBytesB;
  static constexpr int kRingBytes = kStages * kStageBytes;
  static constexpr int kSharedBytes = kRingBytes + 2 * kSlabBytes;
  static constexpr int kThreads = 3 * 128;
  static constexpr int kProducerRegisters = 40, kConsumerRegisters = 232;
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// region issue
// Issues the loads of one k tile: this block's tile of B, and its half of A's rows for both blocks,
// which lie side by side in C. more_bytes: of other loads to the same stage.
template <class T>
__device__ inline void issue_stage(unsigned char* stage, const CUtensorMap* map_a,
                                   const CUtensorMap* map_b, int p, int row, int col, int rank,
                                   std::uint64_t* full, int more_bytes = 0) {
  constexpr int kRowsA = T::kTileM / kClusterSize;
  ptx::mbarrier_arrive_expect_tx(full, T::kStageBytes + more_bytes);
  ptx::tensor_load_multicast(stage + rank * kRowsA * kRowBytes, map_a, p, row + rank * kRowsA, full,
                             3);
  ptx::tensor_load(stage + T::kBytesA, map_b, p, col, full);
}
// endregion
#endif

// Pairs of tiles, side by side.
template <class T>
TileSchedule pairs_of_tiles(int m, int n) {
  return grouped_schedule(m, n, T::kTileM, kClusterSize * T::kTileN);
}

}  // namespace matmul::fp8
