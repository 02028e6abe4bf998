// Rung 9, pipelined: one block per SM whose warps have different jobs (Hopper, sm_90).
//
// In rung 8 a tile keeps its registers while its block looks back, and nothing is loaded into them.
// Here tiles lie in a ring of slots in shared memory. A loader fills free slots through the copy
// engine; the scan warps sum each tile that arrives; a publisher tells the other SMs; a looker
// looks back; and tiles whose predecessors are known are scanned and written by the scan warps,
// while later ones are already under way. Nobody waits for anything but what it needs: each job has
// a barrier per slot. The memory is kept busy whatever the way back costs.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "05_reduction/scan/08_single_pass.cuh"
#include "common/cuda_check.cuh"
#include "common/ptx.cuh"

template <int kScanWarps, int kRows, int kSlots>
struct ScanRing {
  static constexpr int kTile = kScanWarps * kRows * kRow;
  static constexpr int kThreads = 32 * (kScanWarps + 3);

  float data[kSlots][kTile];
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
  return __all_sync(kEveryLane, ptx::mbarrier_test_wait_parity(barrier, phase & 1));
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
template <class Ring, int kSlots>
__device__ void load_tiles(Ring& ring, const ScanTask& task) {
  unsigned next = atomicAdd(&task.counters[0], 1);
  for (unsigned k = 0;; ++k) {
    const unsigned slot = k % kSlots;
    if (k >= kSlots) wait_for(&ring.released[slot], k / kSlots - 1);
    const std::int64_t begin = static_cast<std::int64_t>(next) * Ring::kTile;
    ring.tile[slot] = next;
    if (next < task.tiles && task.aligned && begin + Ring::kTile <= task.n) {
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
template <class Ring, int kSlots, int kScanWarps>
__device__ void publish_tiles(Ring& ring, const ScanTask& task) {
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
template <class Ring, int kSlots, int kScanWarps>
__device__ void look_back_from_tiles(Ring& ring, const ScanTask& task) {
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
template <class Ring, int kSlots, int kRows>
__device__ void scan_tiles(Ring& ring, const ScanTask& task) {
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const int in_tile = warp * (kRows * kRow) + 4 * lane;
  float4 rows[kRows];
  // The rows of this warp, from the slot or, if the copy engine could not serve it, from x.
  const auto read_rows = [&](unsigned slot, std::int64_t begin, bool fast) {
    if (fast) {
      load_rows(rows, ring.data[slot], in_tile, Ring::kTile, true);
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
      const std::int64_t begin = static_cast<std::int64_t>(tile) * Ring::kTile;
      read_rows(slot, begin, task.aligned && begin + Ring::kTile <= task.n);
      float sum = 0;
#pragma unroll
      for (int r = 0; r < kRows; ++r) sum += (rows[r].x + rows[r].y) + (rows[r].z + rows[r].w);
      sum = warp_scan(sum);
      if (lane == 31) {
        ring.of_warps[slot][warp] = sum;
        ptx::mbarrier_arrive(&ring.summed[slot]);
      }
      ++summed;
    } else if (written < summed && warp_sees(&ring.preceded[written % kSlots], written / kSlots)) {
      const unsigned slot = written % kSlots;
      const std::int64_t begin = static_cast<std::int64_t>(ring.tile[slot]) * Ring::kTile;
      const bool fast = task.aligned && begin + Ring::kTile <= task.n;
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

template <int kScanWarps, int kRows, int kSlots>
__global__ void __launch_bounds__(32 * (kScanWarps + 3))
    scan_pipelined_kernel(const float* x, float* y, std::int64_t n, std::uint32_t tiles,
                          bool aligned, std::uint64_t* states, unsigned* counters) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  using Ring = ScanRing<kScanWarps, kRows, kSlots>;
  extern __shared__ __align__(128) unsigned char memory[];
  Ring& ring = *reinterpret_cast<Ring*>(memory);
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
    scan_tiles<Ring, kSlots, kRows>(ring, task);
  } else if (warp == kScanWarps) {
    if (threadIdx.x % 32 == 0) load_tiles<Ring, kSlots>(ring, task);
  } else if (warp == kScanWarps + 1) {
    publish_tiles<Ring, kSlots, kScanWarps>(ring, task);
  } else {
    look_back_from_tiles<Ring, kSlots, kScanWarps>(ring, task);
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

template <int kScanWarps, int kRows, int kSlots>
void launch_pipelined(const float* x, float* y, std::int64_t n, std::uint64_t* states,
                      unsigned* counters, cudaStream_t stream) {
  using Ring = ScanRing<kScanWarps, kRows, kSlots>;
  static_assert(sizeof(Ring) + 1024 <= 228 * 1024, "one block has at most 227 KB");
  const auto kernel = scan_pipelined_kernel<kScanWarps, kRows, kSlots>;
  static const int multiprocessors = [&] {
    int device = 0, count = 0;
    CUDA_CHECK(cudaGetDevice(&device));
    CUDA_CHECK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device));
    CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(sizeof(Ring))));
    return count;
  }();
  const std::int64_t tiles = (n + Ring::kTile - 1) / Ring::kTile;
  if (tiles == 0) return;
  const bool aligned = is_aligned_to_16(x) && is_aligned_to_16(y);
  const int blocks = static_cast<int>(std::min<std::int64_t>(tiles, multiprocessors));
  kernel<<<blocks, Ring::kThreads, sizeof(Ring), stream>>>(
      x, y, n, static_cast<std::uint32_t>(tiles), aligned, states, counters);
  CUDA_CHECK(cudaGetLastError());
}

// y[i] = x[0] + ... + x[i] for all i < n. Device pointers, fast if aligned to 16 bytes; states: one
// per 4096 elements; counters: two. States and counters are 0 before and after. Needs sm_90.
inline void scan_pipelined(const float* x, float* y, std::int64_t n, std::uint64_t* states,
                           unsigned* counters, cudaStream_t stream) {
  launch_pipelined<8, 8, 7>(x, y, n, states, counters, stream);
}
