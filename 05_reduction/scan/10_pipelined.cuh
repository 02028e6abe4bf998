// pipelined: publishing and looking back are warps of their own (Hopper, sm_90).
//
// In `producer_warp` the scan warps stand still while one of them looks back. Here they only sum a
// tile when it has arrived; a publisher tells the other SMs its sum, a looker looks back, and when
// the looker knows what lies before a tile, the scan warps read it again from its slot, scan and
// write it. In between they have summed later tiles. Nobody waits for anything but what it needs:
// each job has a barrier per slot.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "05_reduction/kit/all_lanes.cuh"
#include "05_reduction/scan/kit/look_back.cuh"
#include "05_reduction/scan/kit/rows.cuh"
#include "05_reduction/scan/kit/tile_ring.cuh"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/pipeline.cuh"
#include "common/kit/ptx/tma.cuh"

namespace scan {

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
  return __all_sync(reduction::kAllLanes, ptx::mbarrier_test_wait_parity(barrier, phase & 1));
}

// Publisher, one warp: as soon as a tile is summed, all others may know.
__device__ inline void publish_tiles(ScanRing& ring, const ScanTask& task) {
  const int lane = threadIdx.x % 32;
  for (unsigned k = 0;; ++k) {
    const unsigned slot = k % kSlots;
    kit::wait(&ring.loaded[slot], k / kSlots & 1);
    const std::uint32_t tile = ring.tile[slot];
    if (tile >= task.tiles) return;
    kit::wait(&ring.summed[slot], k / kSlots & 1);
    const float inclusive = warp_scan(lane < kScanWarps ? ring.of_warps[slot][lane] : 0);
    ptx::mbarrier_arrive(&ring.released[slot]);
    // Only if the looker was not faster: what it publishes says more.
    if (lane == 31) offer_sum_of_tile(task.states, tile, inclusive);
  }
}

// Looker, one warp: what lies before each tile.
__device__ inline void look_back_from_tiles(ScanRing& ring, const ScanTask& task) {
  const int lane = threadIdx.x % 32;
  for (unsigned k = 0;; ++k) {
    const unsigned slot = k % kSlots;
    kit::wait(&ring.loaded[slot], k / kSlots & 1);
    const std::uint32_t tile = ring.tile[slot];
    if (tile >= task.tiles) return;
    kit::wait(&ring.summed[slot], k / kSlots & 1);
    const float inclusive = warp_scan(lane < kScanWarps ? ring.of_warps[slot][lane] : 0);
    const float in_tile = before_lane(inclusive);
    const float before = look_back(task.states, tile);
    if (lane == 31) publish_sum_up_to_end(task.states, tile, before + inclusive);
    __syncwarp();  // all lanes have read the slot before eight of them let it go
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
  float4 rows[kScanRows];
  unsigned summed = 0, written = 0;  // tiles
  bool more = true;
  while (more || written < summed) {
    // A tile has arrived: sum it, so that the publisher and the looker can go on.
    if (more && warp_sees(&ring.loaded[summed % kSlots], summed / kSlots)) {
      const unsigned slot = summed % kSlots;
      const std::uint32_t tile = ring.tile[slot];
      more = tile < task.tiles;
      if (!more) continue;
      task.read(rows, ring.data[slot], tile);
      float sum = 0;
#pragma unroll
      for (int r = 0; r < kScanRows; ++r) sum += (rows[r].x + rows[r].y) + (rows[r].z + rows[r].w);
      sum = warp_scan(sum);
      if (lane == 31) {
        ring.of_warps[slot][warp] = sum;
        ptx::mbarrier_arrive(&ring.summed[slot]);
      }
      ++summed;
      // What lies before an earlier tile is known: scan that one and write it.
    } else if (written < summed && warp_sees(&ring.preceded[written % kSlots], written / kSlots)) {
      const unsigned slot = written % kSlots;
      const std::uint32_t tile = ring.tile[slot];
      task.read(rows, ring.data[slot], tile);
      const float before = ring.before[slot][warp];
      ptx::fence_proxy_async();                    // TMA, another proxy, writes to the slot next
      ptx::mbarrier_arrive(&ring.released[slot]);  // this lane has read all it needs
      scan_rows(rows);
      task.write(rows, before, tile);
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
  const ScanTask task{x, y, n, tiles, aligned, states, counters};
  const int warp = threadIdx.x / 32;

  // How many arrivals complete a phase of each barrier.
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

  // Each warp to its job, until the tiles are used up.
  if (warp < kScanWarps) {
    scan_tiles(ring, task);
  } else if (warp == kScanWarps) {
    if (threadIdx.x % 32 == 0) task.load(ring);
  } else if (warp == kScanWarps + 1) {
    publish_tiles(ring, task);
  } else {
    look_back_from_tiles(ring, task);
  }
  __syncthreads();

  task.clear_in_last_block();
#endif
}

// y[i] = x[0] + ... + x[i] for all i < n. Device pointers, fast if aligned to 16 bytes; states: one
// per 8192 elements; counters: two. States and counters are 0 before and after. Needs sm_90.
inline void scan_pipelined(const float* x, float* y, std::int64_t n, std::uint64_t* states,
                           unsigned* counters, cudaStream_t stream) {
  static_assert(sizeof(ScanRing) <= kMostRingBytes, "as many slots as a block has room for");
  // Skipped where a block cannot have that much: sm_90 and sm_100 give it, sm_120 not even half.
  kit::allow_shared(scan_pipelined_kernel, static_cast<int>(sizeof(ScanRing)));
  const std::int64_t tiles = (n + kRingTile - 1) / kRingTile;
  if (tiles == 0) return;
  const bool aligned = kit::is_aligned_to_16(x) && kit::is_aligned_to_16(y);
  const int blocks = static_cast<int>(std::min<std::int64_t>(tiles, kit::multiprocessor_count()));
  scan_pipelined_kernel<<<blocks, kPipelinedThreads, sizeof(ScanRing), stream>>>(
      x, y, n, static_cast<std::uint32_t>(tiles), aligned, states, counters);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace scan
