// ring: each rank sends to the next one only, a slice of its array at a time.
//
// Reduce-scatter: slice s starts at rank s and goes round; each rank adds what it has and passes
// the sum on, so that after size - 1 steps rank s - 1 holds all of slice s. All-gather: the
// finished slices go round once more. Every rank sends 2 (size - 1) / size arrays and all links to
// a next rank work at the same time: with many ranks no way needs fewer bytes. What is still wrong:
// 2 (size - 1) steps, each a copy and an event, half of them with a kernel; and bf16 is rounded at
// every step that adds.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "05_reduction/all_reduce/kit/team.cuh"
#include "05_reduction/all_reduce/kit/vector.cuh"
#include "common/kit/check.cuh"

namespace all_reduce {

template <class T>
__global__ void __launch_bounds__(kThreads) add_to_kernel(T* y, const T* x, std::int64_t n) {
  const std::int64_t grid = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t v = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; v < vectors_of<T>(n);
       v += grid) {
    Sum<T> sum;
    sum.add(load<T>(y, v, n));
    sum.add(load(x, v, n));
    store(y, v, n, sum.rounded());
  }
}

// y of every rank = the sum of all x, slice s in the order s, s + 1, ..., s - 1. In the streams of
// the team.
template <class T>
void all_reduce_ring(const Team<T>& team, std::int64_t n) {
  if (n == 0) return;
  const Peers<T>& peers = team.peers;
  const int size = team.size();
  const auto round = [size](int rank) { return (rank + size) % size; };
  // Slices of whole vectors; the last ones may be shorter, or empty.
  const std::int64_t most = (vectors_of<T>(n) + size - 1) / size * std::int64_t{Vector<T>::kSize};
  const auto first = [&](int slice) { return std::min(slice * most, n); };
  const auto count = [&](int slice) { return first(slice + 1) - first(slice); };
  const auto send = [&](int slice, int rank, T* const* to) {
    const int next = round(rank + 1);
    if (count(slice) == 0) return;
    CUDA_CHECK(cudaMemcpyAsync(to[next] + first(slice), peers.y[rank] + first(slice),
                               count(slice) * sizeof(T), cudaMemcpyDefault, team.streams[rank]));
  };

  for_each_rank(team, [&](int rank, cudaStream_t stream) {
    CUDA_CHECK(cudaMemcpyAsync(peers.y[rank], peers.x[rank], n * sizeof(T),
                               cudaMemcpyDeviceToDevice, stream));
  });
  // Reduce-scatter: in each step all send, then all add.
  for (int step = 0; step < size - 1; ++step) {
    for (int rank = 0; rank < size; ++rank) send(round(rank - step), rank, peers.parts);
    for (int rank = 0; rank < size; ++rank) {
      CUDA_CHECK(cudaEventRecord(team.events[rank], team.streams[rank]));
    }
    for_each_rank(team, [&](int rank, cudaStream_t stream) {
      const int slice = round(rank - 1 - step);
      CUDA_CHECK(cudaStreamWaitEvent(stream, team.events[round(rank - 1)], 0));
      if (count(slice) == 0) return;
      add_to_kernel<T><<<team.blocks_for(vectors_of<T>(count(slice))), kThreads, 0, stream>>>(
          peers.y[rank] + first(slice), peers.parts[rank] + first(slice), count(slice));
      CUDA_CHECK(cudaGetLastError());
    });
  }
  // All-gather: rank r holds slice r + 1.
  for (int step = 0; step < size - 1; ++step) {
    for (int rank = 0; rank < size; ++rank) send(round(rank + 1 - step), rank, peers.y);
    for (int rank = 0; rank < size; ++rank) {
      CUDA_CHECK(cudaEventRecord(team.events[rank], team.streams[rank]));
    }
    for (int rank = 0; rank < size; ++rank) {
      CUDA_CHECK(cudaStreamWaitEvent(team.streams[rank], team.events[round(rank - 1)], 0));
    }
  }
}

}  // namespace all_reduce
