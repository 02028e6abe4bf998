// --demo block_votes: __syncthreads_count, __syncthreads_and and __syncthreads_or, votes of a
// block.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

#include "common/kit/check.cuh"
#include "common/kit/device_buffer.cuh"

namespace warp_divergence {

struct BlockVotes {
  int negative;   // how many values are
  int all_small;  // whether all are below 10 in size
  int any_zero;
};

// One block, one thread per value. Each call is a barrier and a vote in one: no thread gets past it
// before all have come, so all threads of the block must come.
__global__ void block_votes_kernel(const float* values, BlockVotes* votes) {
  const float value = values[threadIdx.x];
  const int negative = __syncthreads_count(value < 0);
  const int all_small = __syncthreads_and(fabsf(value) < 10);
  const int any_zero = __syncthreads_or(value == 0);
  if (threadIdx.x == 0) *votes = {negative, all_small != 0, any_zero != 0};
}

// 1 to 1024 values.
inline BlockVotes votes_of_block(const std::vector<float>& values) {
  const kit::DeviceBuffer<float> d_values(values.size());
  const kit::DeviceBuffer<BlockVotes> d_votes(1);
  CUDA_CHECK(cudaMemcpy(d_values.data(), values.data(), d_values.bytes(), cudaMemcpyHostToDevice));
  block_votes_kernel<<<1, static_cast<int>(values.size())>>>(d_values.data(), d_votes.data());
  CUDA_CHECK(cudaGetLastError());
  BlockVotes votes = {};
  CUDA_CHECK(cudaMemcpy(&votes, d_votes.data(), sizeof votes, cudaMemcpyDeviceToHost));
  return votes;
}

inline void block_votes_demo() {
  std::printf("%-36s %9s %10s %9s\n", "128 values", "negative", "all small", "any zero");
  std::vector<float> values(128);
  const auto print = [&values](const char* what) {
    const BlockVotes votes = votes_of_block(values);
    std::printf("%-36s %9d %10s %9s\n", what, votes.negative, votes.all_small ? "yes" : "no",
                votes.any_zero ? "yes" : "no");
  };
  for (int i = 0; i < 128; ++i) values[i] = i % 4 == 0 ? -1.5f : 1.5f;
  print("every fourth -1.5, the others 1.5");
  values[77] = 0;
  print("number 77 replaced by 0");
  values[3] = 12;
  print("and number 3 by 12");
}

}  // namespace warp_divergence
