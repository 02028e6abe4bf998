// Decoupled look-back: what the tiles tell each other, and the way back over them.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "05_reduction/kit/all_lanes.cuh"
#include "05_reduction/scan/kit/rows.cuh"

namespace scan {

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

// volatile: one access of 64 bits, to the L2 cache, where the SMs meet, each time. PTX treats it as
// a relaxed atomic; sum/kit/announcements.cuh says the same by cuda::atomic_ref.
__device__ inline std::uint64_t read_state(const std::uint64_t* states, std::int64_t tile) {
  if (tile < 0) return kSumUpToEnd;  // before the first tile lies 0
  return *const_cast<const volatile std::uint64_t*>(states + tile);
}
__device__ inline void publish_state(std::uint64_t* states, std::int64_t tile,
                                     std::uint64_t state) {
  *const_cast<volatile std::uint64_t*>(states + tile) = state;
}
__device__ inline void publish_sum_of_tile(std::uint64_t* states, std::int64_t tile, float sum) {
  publish_state(states, tile, make_state(kSumOfTile, sum));
}
// Only if nothing is known of the tile: its sum up to the end says more.
__device__ inline void offer_sum_of_tile(std::uint64_t* states, std::int64_t tile, float sum) {
  atomicCAS(reinterpret_cast<unsigned long long*>(states + tile), 0ull,
            static_cast<unsigned long long>(make_state(kSumOfTile, sum)));
}
__device__ inline void publish_sum_up_to_end(std::uint64_t* states, std::int64_t tile, float sum) {
  publish_state(states, tile, make_state(kSumUpToEnd, sum));
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
      complete = __ballot_sync(reduction::kAllLanes, state >= kSumUpToEnd);
      // The lanes that count: up to the nearest complete tile, or all of them.
      counts = complete == 0 ? reduction::kAllLanes : complete ^ (complete - 1);
      const unsigned unknown = __ballot_sync(reduction::kAllLanes, state == 0);
      if ((unknown & counts) == 0) break;
      __nanosleep(100);  // leave the memory to those who have something to do
    }
    if (counts >> lane & 1) sum += sum_in(state);
    if (complete != 0) break;
  }
  return __shfl_sync(reduction::kAllLanes, warp_scan(sum), 31);
}

// By one warp of the block that has the tile. sums[w]: before, the sum of warp w; after, of all
// elements before those of warp w. The sum of the tile is published at once, before looking back.
template <int kWarps>
__device__ inline void add_what_lies_before(float* sums, std::uint64_t* states, std::int64_t tile) {
  static_assert(kWarps <= 32, "one warp scans the sums of all warps");
  const int lane = threadIdx.x % 32;
  const float inclusive = warp_scan(lane < kWarps ? sums[lane] : 0);
  const float of_tile = __shfl_sync(reduction::kAllLanes, inclusive, 31);
  const float in_tile = before_lane(inclusive);
  if (lane == 0) publish_sum_of_tile(states, tile, of_tile);
  const float before = look_back(states, tile);
  if (lane == 0) publish_sum_up_to_end(states, tile, before + of_tile);
  if (lane < kWarps) sums[lane] = before + in_tile;
}

// By one thread of a block that will not look back again. The last one to say so may clear the
// states for the next launch: the fences order all that was published before.
__device__ inline void leave_states(unsigned* counters, bool& is_last) {
  __threadfence();
  is_last = atomicAdd(&counters[1], 1) == gridDim.x - 1;
  __threadfence();
}

}  // namespace scan
