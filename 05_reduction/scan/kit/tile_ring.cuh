// A ring of tiles in shared memory that one thread keeps full, through TMA.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "05_reduction/scan/kit/look_back.cuh"
#include "05_reduction/scan/kit/rows.cuh"
#include "common/kit/pipeline.cuh"
#include "common/kit/ptx/tma.cuh"

namespace scan {

constexpr int kScanWarps = 8;  // of a block
constexpr int kScanRows = 8;   // of each scan warp
constexpr int kRingTile = kScanWarps * kScanRows * kRow;
constexpr int kSlots = 7;  // as many tiles as fit into shared memory

// Of the 227 KB that a block may have on sm_90, 1 KB is left to the variables beside the ring.
constexpr int kMostRingBytes = (227 - 1) * 1024;

// What is to be scanned, and the ways of a tile: into the ring, from there to the registers of the
// scan warps, and back to memory.
struct ScanTask {
  const float* x;
  float* y;
  std::int64_t n;
  std::uint32_t tiles;
  bool aligned;
  std::uint64_t* states;
  unsigned* counters;

  // Whether the tile that begins here comes through TMA: no other tile is whole and aligned.
  __device__ bool is_whole(std::int64_t begin) const { return aligned && begin + kRingTile <= n; }

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  // One thread, the producer: a free slot, the next tile, and the copy that brings it. The first
  // slot without a tile ends the work of this block.
  template <class Ring>
  __device__ void load(Ring& ring) const {
    unsigned next = atomicAdd(&counters[0], 1);
    for (unsigned k = 0;; ++k) {
      const unsigned slot = k % kSlots;
      if (k >= kSlots) kit::wait(&ring.released[slot], (k / kSlots - 1) & 1);
      const std::int64_t begin = static_cast<std::int64_t>(next) * kRingTile;
      ring.tile[slot] = next;
      if (next < tiles && is_whole(begin)) {
        ptx::mbarrier_arrive_expect_tx(&ring.loaded[slot], sizeof ring.data[slot]);
        ptx::cp_async_bulk(ring.data[slot], x + begin, sizeof ring.data[slot], &ring.loaded[slot]);
      } else {
        ptx::mbarrier_arrive(&ring.loaded[slot]);  // the scan warps read it themselves
      }
      if (next >= tiles) return;
      next = atomicAdd(&counters[0], 1);  // asked for early: the answer takes a while
    }
  }
#endif

  // The rows of this warp, of that tile: from its slot or, where TMA could not bring it, from x.
  __device__ void read(float4 (&rows)[kScanRows], const float* slot, std::uint32_t tile) const {
    const std::int64_t begin = static_cast<std::int64_t>(tile) * kRingTile;
    const int in_tile = threadIdx.x / 32 * (kScanRows * kRow) + 4 * (threadIdx.x % 32);
    if (is_whole(begin)) {
      load_rows(rows, slot, in_tile, kRingTile, true);
    } else {
      load_rows(rows, x, begin + in_tile, n, false);
    }
  }
  __device__ void write(const float4 (&rows)[kScanRows], float before, std::uint32_t tile) const {
    const std::int64_t begin = static_cast<std::int64_t>(tile) * kRingTile;
    const int in_tile = threadIdx.x / 32 * (kScanRows * kRow) + 4 * (threadIdx.x % 32);
    store_rows(rows, before, y, begin + in_tile, n, is_whole(begin));
  }

  // The last block of the grid to come here leaves states and counters as they were found. All
  // threads of all blocks call it.
  __device__ void clear_in_last_block() const {
    __shared__ bool is_last;
    if (threadIdx.x == 0) leave_states(counters, is_last);
    __syncthreads();
    if (!is_last) return;
    for (unsigned i = threadIdx.x; i < tiles; i += blockDim.x) states[i] = 0;
    if (threadIdx.x < 2) counters[threadIdx.x] = 0;
  }
};

}  // namespace scan
