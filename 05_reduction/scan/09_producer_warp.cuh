// producer_warp: one warp keeps tiles in flight, whatever the others wait for (sm_90).
//
// In `single_pass` a block holds its tile in registers while it looks back, and loads nothing. Here
// one block per SM stays to the end. A producer fills a ring of slots in shared memory through TMA,
// up to seven tiles ahead; eight scan warps take one slot after the other and go on as in
// `single_pass`. (Chapter 04 explains TMA and mbarriers.) What is still wrong: with several tiles
// per block it is slower than `single_pass`. A tile that has come waits for up to seven look-backs
// before its sum is published, and all later tiles wait for that sum.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "05_reduction/scan/kit/look_back.cuh"
#include "05_reduction/scan/kit/rows.cuh"
#include "05_reduction/scan/kit/tile_ring.cuh"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/pipeline.cuh"
#include "common/kit/ptx/roles.cuh"
#include "common/kit/ptx/tma.cuh"

namespace scan {

constexpr int kProducerThreads = 32 * (kScanWarps + 1);

struct TileRing {
  float data[kSlots][kRingTile];
  std::uint32_t tile[kSlots];  // its number; no tile of the array: the end
  // Barriers, one per slot; use number k of a slot is phase k.
  std::uint64_t loaded[kSlots];    // the data have arrived
  std::uint64_t released[kSlots];  // nobody needs the slot any more
};

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
// Scan warps: the tiles of this block in order, each as in `single_pass`. There are two sets of
// sums, so that those of the next tile do not overwrite what a slower warp still reads.
__device__ inline void scan_in_order(TileRing& ring, const ScanTask& task) {
  __shared__ float of_warps[2][kScanWarps];
  const int warp = threadIdx.x / 32;
  float4 rows[kScanRows];
  for (unsigned k = 0;; ++k) {
    const unsigned slot = k % kSlots;
    kit::wait(&ring.loaded[slot], k / kSlots & 1);
    const std::uint32_t tile = ring.tile[slot];
    if (tile >= task.tiles) return;

    // The tile into registers; from then on the producer may fill the slot again.
    task.read(rows, ring.data[slot], tile);
    ptx::fence_proxy_async();  // TMA, another proxy, writes to the slot next
    ptx::mbarrier_arrive(&ring.released[slot]);
    const float of_warp = scan_rows(rows);
    float* const sums = of_warps[k % 2];
    if (threadIdx.x % 32 == 0) sums[warp] = of_warp;
    ptx::named_barrier_sync(1, 32 * kScanWarps);

    // One warp for the block, while the producer goes on loading.
    if (warp == 0) add_what_lies_before<kScanWarps>(sums, task.states, tile);
    ptx::named_barrier_sync(1, 32 * kScanWarps);
    task.write(rows, sums[warp], tile);
  }
}
#endif

__global__ void __launch_bounds__(kProducerThreads)
    scan_producer_warp_kernel(const float* x, float* y, std::int64_t n, std::uint32_t tiles,
                              bool aligned, std::uint64_t* states, unsigned* counters) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  extern __shared__ __align__(128) unsigned char memory[];
  TileRing& ring = *reinterpret_cast<TileRing*>(memory);
  const ScanTask task{x, y, n, tiles, aligned, states, counters};

  // How many arrivals complete a phase of each barrier.
  if (threadIdx.x == 0) {
    kit::init_stages(ring.loaded, ring.released, 32 * kScanWarps);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();

  // Each warp to its job, until the tiles are used up.
  if (threadIdx.x / 32 < kScanWarps) {
    scan_in_order(ring, task);
  } else if (threadIdx.x % 32 == 0) {
    task.load(ring);
  }
  __syncthreads();
  task.clear_in_last_block();
#endif
}

// y[i] = x[0] + ... + x[i] for all i < n. Device pointers, fast if aligned to 16 bytes; states: one
// per 8192 elements; counters: two. States and counters are 0 before and after. Needs sm_90.
inline void scan_producer_warp(const float* x, float* y, std::int64_t n, std::uint64_t* states,
                               unsigned* counters, cudaStream_t stream) {
  static_assert(sizeof(TileRing) <= kMostRingBytes, "as many slots as a block has room for");
  // Skipped where a block cannot have that much: sm_90 and sm_100 give it, sm_120 not even half.
  kit::allow_shared(scan_producer_warp_kernel, static_cast<int>(sizeof(TileRing)));
  const std::int64_t tiles = (n + kRingTile - 1) / kRingTile;
  if (tiles == 0) return;
  const bool aligned = kit::is_aligned_to_16(x) && kit::is_aligned_to_16(y);
  const int blocks = static_cast<int>(std::min<std::int64_t>(tiles, kit::multiprocessor_count()));
  scan_producer_warp_kernel<<<blocks, kProducerThreads, sizeof(TileRing), stream>>>(
      x, y, n, static_cast<std::uint32_t>(tiles), aligned, states, counters);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace scan
