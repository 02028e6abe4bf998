// Rung 8, single_pass: each element is read once and written once (decoupled look-back).
//
// A block that has the sum of its tile publishes it, and then looks back over the tiles before its
// own, 32 at a time: it adds up their sums until it meets a tile that already knows the sum of
// everything up to its end (Merrill and Garland, "Single-pass parallel prefix scan with decoupled
// look-back", 2016). It waits only for tiles whose blocks already run, because tiles are handed out
// by a counter: blockIdx says nothing about who starts first. What is still wrong: while a block
// looks back, it loads nothing.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "05_reduction/scan/07_registers.cuh"
#include "common/alignment.hpp"
#include "common/cuda_check.cuh"

// The state of a tile: in the upper half of 64 bits what is known, in the lower half a float. Flag
// and value travel in one word, so no fence is needed between them. 0: nothing is known yet.
constexpr std::uint64_t kSumOfTile = 1ull << 32;   // the sum of the tile alone
constexpr std::uint64_t kSumUpToEnd = 2ull << 32;  // the sum of all elements up to its end

__device__ inline std::uint64_t make_state(std::uint64_t flag, float sum) {
  return flag | __float_as_uint(sum);
}
__device__ inline float sum_in(std::uint64_t state) {
  return __uint_as_float(static_cast<unsigned>(state));
}

// volatile: goes to the L2 cache, where the SMs meet, each time.
__device__ inline std::uint64_t read_state(const std::uint64_t* states, std::int64_t tile) {
  if (tile < 0) return kSumUpToEnd;  // before the first tile lies 0
  return *const_cast<const volatile std::uint64_t*>(states + tile);
}
__device__ inline void publish_state(std::uint64_t* states, std::int64_t tile,
                                     std::uint64_t state) {
  *const_cast<volatile std::uint64_t*>(states + tile) = state;
}

// The sum of all tiles before `tile`, in every lane. All 32 lanes of a warp must call it. Spins
// until the blocks that own those tiles have published their sums.
__device__ inline float look_back(const std::uint64_t* states, std::int64_t tile) {
  const int lane = threadIdx.x % 32;
  float sum = 0;  // over the windows; each lane has its part
  for (std::int64_t nearest = tile - 1;; nearest -= 32) {
    std::uint64_t state = 0;
    unsigned complete = 0, counts = 0;
    while (true) {
      state = read_state(states, nearest - lane);
      complete = __ballot_sync(kAllLanes, state >= kSumUpToEnd);
      // The lanes that count: up to the nearest complete tile, or all of them.
      counts = complete == 0 ? kAllLanes : complete ^ (complete - 1);
      const unsigned unknown = __ballot_sync(kAllLanes, state == 0);
      if ((unknown & counts) == 0) break;
      __nanosleep(100);  // leave the memory to those who have something to do
    }
    if (counts >> lane & 1) sum += sum_in(state);
    if (complete != 0) break;
  }
  return __shfl_sync(kAllLanes, warp_scan(sum), 31);
}

// counters[0] hands out the tiles, counters[1] counts the finished ones.
template <int kBlock, int kRows>
__global__ void __launch_bounds__(kBlock)
    scan_single_pass_kernel(const float* x, float* y, std::int64_t n, bool aligned,
                            std::uint64_t* states, unsigned* counters) {
  constexpr int kWarps = kBlock / 32;
  constexpr int kTile = kBlock * 4 * kRows;
  static_assert(kWarps <= 32, "one warp scans the sums of all warps");
  __shared__ float of_warps[kWarps];
  __shared__ unsigned ticket;
  __shared__ bool is_last;
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  if (threadIdx.x == 0) ticket = atomicAdd(&counters[0], 1);
  __syncthreads();
  const std::int64_t tile = ticket;
  const std::int64_t first = tile * kTile + warp * (kRows * kRow) + 4 * lane;
  const bool fast = aligned && (tile + 1) * kTile <= n;

  float4 rows[kRows];
  load_rows(rows, x, first, n, fast);
  const float of_warp = scan_rows(rows);
  if (lane == 0) of_warps[warp] = of_warp;
  __syncthreads();

  if (warp == 0) {
    const float inclusive = warp_scan(lane < kWarps ? of_warps[lane] : 0);
    const float of_tile = __shfl_sync(kAllLanes, inclusive, 31);
    const float in_tile = before_lane(inclusive);
    if (lane == 0) publish_state(states, tile, make_state(kSumOfTile, of_tile));
    const float before = look_back(states, tile);
    if (lane == 0) publish_state(states, tile, make_state(kSumUpToEnd, before + of_tile));
    if (lane < kWarps) of_warps[lane] = before + in_tile;
  }
  __syncthreads();

  // This block will not look back again. The last one to say so clears the states for the next
  // launch; the fence orders all that was published before it.
  if (threadIdx.x == 0) {
    __threadfence();
    is_last = atomicAdd(&counters[1], 1) == gridDim.x - 1;
    __threadfence();
  }
  store_rows(rows, of_warps[warp], y, first, n, fast);
  __syncthreads();
  if (is_last) {
    for (unsigned i = threadIdx.x; i < gridDim.x; i += kBlock) states[i] = 0;
    if (threadIdx.x < 2) counters[threadIdx.x] = 0;
  }
}

// y[i] = x[0] + ... + x[i] for all i < n. Device pointers, fast if aligned to 16 bytes; states: one
// per 32768 elements; counters: two. States and counters are 0 before and after. Sums that round
// may differ from run to run: how far a tile looks back depends on who was faster.
inline void scan_single_pass(const float* x, float* y, std::int64_t n, std::uint64_t* states,
                             unsigned* counters, cudaStream_t stream) {
  constexpr int kBlock = 1024;  // a large tile: the fewer tiles there are, the shorter the way back
  constexpr int kRows = 8;
  constexpr int kTile = kBlock * 4 * kRows;
  const std::int64_t tiles = (n + kTile - 1) / kTile;
  if (tiles == 0) return;
  const bool aligned = common::is_aligned_to_16(x) && common::is_aligned_to_16(y);
  scan_single_pass_kernel<kBlock, kRows>
      <<<tiles, kBlock, 0, stream>>>(x, y, n, aligned, states, counters);
  CUDA_CHECK(cudaGetLastError());
}
