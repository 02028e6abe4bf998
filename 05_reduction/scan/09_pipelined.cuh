// Rung 9, pipelined: one block per SM whose warps have different jobs (Hopper, sm_90).
//
// In rung 8 a tile keeps its registers while its block looks back, and nothing is loaded into them.
// Here tiles lie in a ring of slots in shared memory. A loader fills free slots through the copy
// engine (TMA); the scan warps sum each tile that arrives; a publisher tells the other SMs; a
// looker looks back; and tiles whose predecessors are known are scanned and written by the scan
// warps, while later ones are already under way. Nobody waits for anything but what it needs: each
// job has a barrier per slot. The memory is kept busy whatever the way back costs.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "05_reduction/scan/08_single_pass.cuh"
#include "common/alignment.hpp"
#include "common/cuda_check.cuh"
#include "common/launch.cuh"
#include "common/ptx.cuh"

constexpr int kScanWarps = 8;  // beside them a warp each to load, to publish and to look back
constexpr int kScanRows = 8;   // of each scan warp
constexpr int kRingTile = kScanWarps * kScanRows * kRow;
constexpr int kSlots = 7;  // as many tiles as fit into shared memory
constexpr int kPipelinedThreads = 32 * (kScanWarps + 3);

struct ScanRing {
  float data[kSlots][kRingTile];
  float of_warps[kSlots][kScanWarps];  // sums
  float before[kSlots][kScanWarps];    // of everything before a warp's rows
  std::uint32_t tile[kSlots];          // its number; no tile of the array: the end
  // Barriers, one per slot; use number k of a slot is phase k.
  std::uint64_t loaded[kSlots];    // the data have arrived
  std::uint64_t summed[kSlots];    // all scan warps have put down their sums
  std::uint64_t preceded[kSlots];  // `before` is known
  std::uint64_t released[kSlots];  // nobody needs the slot any more
};

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
// The same answer for all lanes of the warp.
__device__ inline bool warp_sees(std::uint64_t* barrier, std::uint32_t phase) {
  return __all_sync(kAllLanes, ptx::mbarrier_test_wait_parity(barrier, phase & 1));
}
__device__ inline void wait_for(std::uint64_t* barrier, std::uint32_t phase) {
  while (!ptx::mbarrier_try_wait_parity(barrier, phase & 1)) {
  }
}

struct ScanTask {
  const float* x;
  float* y;
  std::int64_t n;
  std::uint32_t tiles;
  bool aligned;
  std::uint64_t* states;
  unsigned* counters;
};

// Loader, one thread: a free slot, the next tile, and the order to bring it.
__device__ inline void load_tiles(ScanRing& ring, const ScanTask& task) {
  unsigned next = atomicAdd(&task.counters[0], 1);
  for (unsigned k = 0;; ++k) {
    const unsigned slot = k % kSlots;
    if (k >= kSlots) wait_for(&ring.released[slot], k / kSlots - 1);
    const std::int64_t begin = static_cast<std::int64_t>(next) * kRingTile;
    ring.tile[slot] = next;
    if (next < task.tiles && task.aligned && begin + kRingTile <= task.n) {
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

// Publisher, one warp: as soon as a tile is summed, all others may know.
__device__ inline void publish_tiles(ScanRing& ring, const ScanTask& task) {
  const int lane = threadIdx.x % 32;
  for (unsigned k = 0;; ++k) {
    const unsigned slot = k % kSlots;
    wait_for(&ring.loaded[slot], k / kSlots);
    const std::uint32_t tile = ring.tile[slot];
    if (tile >= task.tiles) return;
    wait_for(&ring.summed[slot], k / kSlots);
    const float inclusive = warp_scan(lane < kScanWarps ? ring.of_warps[slot][lane] : 0);
    ptx::mbarrier_arrive(&ring.released[slot]);
    // Only if the looker was not faster: what it publishes says more.
    if (lane == 31) {
      atomicCAS(reinterpret_cast<unsigned long long*>(task.states + tile), 0ull,
                static_cast<unsigned long long>(make_state(kSumOfTile, inclusive)));
    }
  }
}

// Looker, one warp: what lies before each tile.
__device__ inline void look_back_from_tiles(ScanRing& ring, const ScanTask& task) {
  const int lane = threadIdx.x % 32;
  for (unsigned k = 0;; ++k) {
    const unsigned slot = k % kSlots;
    wait_for(&ring.loaded[slot], k / kSlots);
    const std::uint32_t tile = ring.tile[slot];
    if (tile >= task.tiles) return;
    wait_for(&ring.summed[slot], k / kSlots);
    const float inclusive = warp_scan(lane < kScanWarps ? ring.of_warps[slot][lane] : 0);
    const float in_tile = before_lane(inclusive);
    const float before = look_back(task.states, tile);
    if (lane == 31) publish_state(task.states, tile, make_state(kSumUpToEnd, before + inclusive));
    if (lane < kScanWarps) {
      ring.before[slot][lane] = before + in_tile;
      ptx::mbarrier_arrive(&ring.preceded[slot]);
    }
  }
}

// Scan warps: sum what has been loaded, scan and write what may be written, whichever is possible.
__device__ inline void scan_tiles(ScanRing& ring, const ScanTask& task) {
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const int in_tile = warp * (kScanRows * kRow) + 4 * lane;
  float4 rows[kScanRows];
  // The rows of this warp, from the slot or, if the copy engine could not serve it, from x.
  const auto read_rows = [&](unsigned slot, std::int64_t begin, bool fast) {
    if (fast) {
      load_rows(rows, ring.data[slot], in_tile, kRingTile, true);
    } else {
      load_rows(rows, task.x, begin + in_tile, task.n, false);
    }
  };

  unsigned summed = 0, written = 0;  // tiles
  bool more = true;
  while (more || written < summed) {
    if (more && warp_sees(&ring.loaded[summed % kSlots], summed / kSlots)) {
      const unsigned slot = summed % kSlots;
      const std::uint32_t tile = ring.tile[slot];
      more = tile < task.tiles;
      if (!more) continue;
      const std::int64_t begin = static_cast<std::int64_t>(tile) * kRingTile;
      read_rows(slot, begin, task.aligned && begin + kRingTile <= task.n);
      float sum = 0;
#pragma unroll
      for (int r = 0; r < kScanRows; ++r) sum += (rows[r].x + rows[r].y) + (rows[r].z + rows[r].w);
      sum = warp_scan(sum);
      if (lane == 31) {
        ring.of_warps[slot][warp] = sum;
        ptx::mbarrier_arrive(&ring.summed[slot]);
      }
      ++summed;
    } else if (written < summed && warp_sees(&ring.preceded[written % kSlots], written / kSlots)) {
      const unsigned slot = written % kSlots;
      const std::int64_t begin = static_cast<std::int64_t>(ring.tile[slot]) * kRingTile;
      const bool fast = task.aligned && begin + kRingTile <= task.n;
      read_rows(slot, begin, fast);
      const float before = ring.before[slot][warp];
      ptx::mbarrier_arrive(&ring.released[slot]);  // this lane has read all it needs
      scan_rows(rows);
      store_rows(rows, before, task.y, begin + in_tile, task.n, fast);
      ++written;
    }
  }
}
#endif

__global__ void __launch_bounds__(kPipelinedThreads)
    scan_pipelined_kernel(const float* x, float* y, std::int64_t n, std::uint32_t tiles,
                          bool aligned, std::uint64_t* states, unsigned* counters) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  extern __shared__ __align__(128) unsigned char memory[];
  ScanRing& ring = *reinterpret_cast<ScanRing*>(memory);
  __shared__ bool is_last;
  const ScanTask task{x, y, n, tiles, aligned, states, counters};
  const int warp = threadIdx.x / 32;
  if (threadIdx.x == 0) {
    for (int slot = 0; slot < kSlots; ++slot) {
      ptx::mbarrier_init(&ring.loaded[slot], 1);
      ptx::mbarrier_init(&ring.summed[slot], kScanWarps);
      ptx::mbarrier_init(&ring.preceded[slot], kScanWarps);  // a lane of the looker for each
      ptx::mbarrier_init(&ring.released[slot], 32 * (kScanWarps + 1));  // and the publisher
    }
    ptx::fence_mbarrier_init();
  }
  __syncthreads();

  if (warp < kScanWarps) {
    scan_tiles(ring, task);
  } else if (warp == kScanWarps) {
    if (threadIdx.x % 32 == 0) load_tiles(ring, task);
  } else if (warp == kScanWarps + 1) {
    publish_tiles(ring, task);
  } else {
    look_back_from_tiles(ring, task);
  }
  __syncthreads();

  // The last block clears up, as in rung 8.
  if (threadIdx.x == 0) {
    __threadfence();
    is_last = atomicAdd(&counters[1], 1) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (is_last) {
    for (unsigned i = threadIdx.x; i < tiles; i += blockDim.x) states[i] = 0;
    if (threadIdx.x < 2) counters[threadIdx.x] = 0;
  }
#endif
}

// y[i] = x[0] + ... + x[i] for all i < n. Device pointers, fast if aligned to 16 bytes; states: one
// per 8192 elements; counters: two. States and counters are 0 before and after. Needs sm_90.
inline void scan_pipelined(const float* x, float* y, std::int64_t n, std::uint64_t* states,
                           unsigned* counters, cudaStream_t stream) {
  static_assert(sizeof(ScanRing) + 1024 <= 228 * 1024, "one block has at most 227 KB");
  // Skipped where a block cannot have that much: sm_90 and sm_100 give it, sm_120 not even half.
  common::allow_shared(scan_pipelined_kernel, static_cast<int>(sizeof(ScanRing)));
  const std::int64_t tiles = (n + kRingTile - 1) / kRingTile;
  if (tiles == 0) return;
  const bool aligned = common::is_aligned_to_16(x) && common::is_aligned_to_16(y);
  const int blocks =
      static_cast<int>(std::min<std::int64_t>(tiles, common::multiprocessor_count()));
  scan_pipelined_kernel<<<blocks, kPipelinedThreads, sizeof(ScanRing), stream>>>(
      x, y, n, static_cast<std::uint32_t>(tiles), aligned, states, counters);
  CUDA_CHECK(cudaGetLastError());
}
