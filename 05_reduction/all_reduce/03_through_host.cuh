// through_host: every device copies its array to the host, which adds and sends back.
//
// It needs nothing between the devices, and so runs on any machine. Each stream copies by itself;
// rank 0's stream waits for all of them by events, then has a host function add, and the others
// wait for it. What is still wrong: all bytes go over the bus to the CPU and come back by it, and a
// CPU adds them.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "05_reduction/all_reduce/kit/team.cuh"
#include "05_reduction/all_reduce/kit/vector.cuh"
#include "common/kit/check.cuh"

namespace all_reduce {

// The sum of all arrays in host memory replaces the first of them. Called by the stream, with a
// HostMemory<T>.
template <class T>
void add_on_host(void* argument) {
  const auto& host = *static_cast<const HostMemory<T>*>(argument);
  for (std::int64_t i = 0; i < host.n; ++i) {
    float sum = 0;
    for (int r = 0; r < host.size; ++r) sum += to_float(host.data[r * host.n + i]);
    host.data[i] = from_float<T>(sum);
  }
}

// y of every rank = the sum of all x, in the order of the ranks. In the streams of the team.
template <class T>
void all_reduce_through_host(const Team<T>& team, std::int64_t n) {
  if (n == 0) return;
  const std::size_t bytes = n * sizeof(T);
  for_each_rank(team, [&](int rank, cudaStream_t stream) {
    CUDA_CHECK(cudaMemcpyAsync(team.host->data + rank * n, team.peers.x[rank], bytes,
                               cudaMemcpyDeviceToHost, stream));
  });
  for (int rank = 1; rank < team.size(); ++rank) team.wait(0, rank);
  CUDA_CHECK(cudaLaunchHostFunc(team.streams[0], add_on_host<T>, team.host));
  for_each_rank(team, [&](int rank, cudaStream_t stream) {
    if (rank != 0) team.wait(rank, 0);
    CUDA_CHECK(cudaMemcpyAsync(team.peers.y[rank], team.host->data, bytes, cudaMemcpyHostToDevice,
                               stream));
  });
  // The next call may change the host's memory only when all have copied it.
  for (int rank = 1; rank < team.size(); ++rank) team.wait(0, rank);
  for (int rank = 1; rank < team.size(); ++rank) team.wait(rank, 0);
}

}  // namespace all_reduce
