// A ring of tiles in shared memory that one thread keeps full, through TMA.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "05_reduction/scan/kit/rows.cuh"
#include "common/kit/ptx/mbarrier.cuh"
#include "common/kit/ptx/tma.cuh"

namespace scan {

constexpr int kScanWarps = 8;  // of a block
constexpr int kScanRows = 8;   // of each scan warp
constexpr int kRingTile = kScanWarps * kScanRows * kRow;
constexpr int kSlots = 7;  // as many tiles as fit into shared memory

struct ScanTask {
  const float* x;
  float* y;
  std::int64_t n;
  std::uint32_t tiles;
  bool aligned;
  std::uint64_t* states;
  unsigned* counters;
};

// Whether the tile that begins here comes through TMA: no other tile is whole and aligned.
__device__ inline bool is_whole(const ScanTask& task, std::int64_t begin) {
  return task.aligned && begin + kRingTile <= task.n;
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
// Waits for the end of that phase; use number k of a slot is phase k of its barriers.
__device__ inline void wait_for(std::uint64_t* barrier, std::uint32_t phase) {
  while (!ptx::mbarrier_try_wait_parity(barrier, phase & 1)) {
  }
}

// One thread, the producer: a free slot, the next tile, and the copy that brings it. The first slot
// without a tile ends the work of this block.
template <class Ring>
__device__ void load_tiles(Ring& ring, const ScanTask& task) {
  unsigned next = atomicAdd(&task.counters[0], 1);
  for (unsigned k = 0;; ++k) {
    const unsigned slot = k % kSlots;
    if (k >= kSlots) wait_for(&ring.released[slot], k / kSlots - 1);
    const std::int64_t begin = static_cast<std::int64_t>(next) * kRingTile;
    ring.tile[slot] = next;
    if (next < task.tiles && is_whole(task, begin)) {
      ptx::mbarrier_arrive_expect_tx(&ring.loaded[slot], sizeof ring.data[slot]);
      ptx::cp_async_bulk(ring.data[slot], task.x + begin, sizeof ring.data[slot],
                         &ring.loaded[slot]);
    } else {
      ptx::mbarrier_arrive(&ring.loaded[slot]);  // the scan warps read it themselves
    }
    if (next >= task.tiles) return;
    next = atomicAdd(&task.counters[0], 1);  // asked for early: the answer takes a while
  }
}
#endif

// The rows of this warp, of that tile: from its slot or, where TMA could not bring it, from x.
__device__ inline void read_rows(float4 (&rows)[kScanRows], const float* slot, const ScanTask& task,
                                 std::uint32_t tile) {
  const std::int64_t begin = static_cast<std::int64_t>(tile) * kRingTile;
  const int in_tile = threadIdx.x / 32 * (kScanRows * kRow) + 4 * (threadIdx.x % 32);
  if (is_whole(task, begin)) {
    load_rows(rows, slot, in_tile, kRingTile, true);
  } else {
    load_rows(rows, task.x, begin + in_tile, task.n, false);
  }
}
__device__ inline void write_rows(const float4 (&rows)[kScanRows], float before,
                                  const ScanTask& task, std::uint32_t tile) {
  const std::int64_t begin = static_cast<std::int64_t>(tile) * kRingTile;
  const int in_tile = threadIdx.x / 32 * (kScanRows * kRow) + 4 * (threadIdx.x % 32);
  store_rows(rows, before, task.y, begin + in_tile, task.n, is_whole(task, begin));
}

// The last block of the grid to come here leaves states and counters as they were found. All
// threads of all blocks call it.
__device__ inline void clear_in_last_block(const ScanTask& task) {
  __shared__ bool is_last;
  if (threadIdx.x == 0) {
    __threadfence();
    is_last = atomicAdd(&task.counters[1], 1) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (!is_last) return;
  for (unsigned i = threadIdx.x; i < task.tiles; i += blockDim.x) task.states[i] = 0;
  if (threadIdx.x < 2) task.counters[threadIdx.x] = 0;
}

}  // namespace scan
