// --demo votes: what __any_sync, __all_sync and __ballot_sync answer, for one warp.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>

#include "common/kit/check.cuh"
#include "common/kit/device_buffer.cuh"

namespace warp_divergence {

struct WarpVotes {
  int any, all;
  unsigned ballot;  // bit k: what lane k said
};

// One warp. Lane k says yes if from <= k < to.
__global__ void votes_kernel(WarpVotes* votes, int from, int to) {
  constexpr unsigned kAllLanes = 0xFFFFFFFF;
  const int lane = threadIdx.x;
  const bool yes = from <= lane && lane < to;
  // Every lane gets the same three answers; one writes them down.
  const WarpVotes answers = {__any_sync(kAllLanes, yes), __all_sync(kAllLanes, yes),
                             __ballot_sync(kAllLanes, yes)};
  if (lane == 0) *votes = answers;
}

inline WarpVotes votes_of_lanes(int from, int to) {
  const kit::DeviceBuffer<WarpVotes> d_votes(1);
  votes_kernel<<<1, 32>>>(d_votes.data(), from, to);
  CUDA_CHECK(cudaGetLastError());
  WarpVotes votes = {};
  CUDA_CHECK(cudaMemcpy(&votes, d_votes.data(), sizeof votes, cudaMemcpyDeviceToHost));
  return votes;
}

inline void votes_demo() {
  std::printf("%-18s %4s %4s  %s\n", "lanes that say yes", "any", "all", "ballot");
  const struct {
    const char* who;
    int from, to;
  } rows[] = {{"none", 0, 0}, {"5", 5, 6}, {"0 to 7", 0, 8}, {"all", 0, 32}};
  for (const auto& row : rows) {
    const WarpVotes votes = votes_of_lanes(row.from, row.to);
    std::printf("%-18s %4d %4d  0x%08X\n", row.who, votes.any != 0, votes.all != 0, votes.ballot);
  }
}

}  // namespace warp_divergence
