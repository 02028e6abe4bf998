// gather: rank 0 collects all arrays over the links, adds them, and sends the sum to all.
//
// cudaMemcpyAsync goes from device to device without the host: a copy engine does it, and no SM
// is needed. What is still wrong: size - 1 arrays come in over the links of one device and go out
// by them, while those between the others are idle; and one device adds.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "05_reduction/all_reduce/kit/team.cuh"
#include "05_reduction/all_reduce/kit/vector.cuh"
#include "common/kit/check.cuh"

namespace all_reduce {

// *y = x and the parts of ranks 1 to size - 1, which lie `stride` elements apart.
template <class T>
__global__ void __launch_bounds__(kThreads)
    add_parts_kernel(const T* x, const T* parts, std::int64_t stride, int size, T* y,
                     std::int64_t n) {
  const std::int64_t grid = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t v = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; v < vectors_of<T>(n);
       v += grid) {
    Sum<T> sum;
    sum.add(load(x, v, n));
    for (int r = 1; r < size; ++r) sum.add(load(parts + r * stride, v, n));
    store(y, v, n, sum.rounded());
  }
}

// y of every rank = the sum of all x, in the order of the ranks. In the streams of the team.
template <class T>
void all_reduce_gather(const Team<T>& team, std::int64_t n) {
  if (n == 0) return;
  const Peers<T>& peers = team.peers;
  const std::size_t bytes = n * sizeof(T);
  const std::int64_t stride = padded<T>(n);
  for (int rank = 1; rank < team.size(); ++rank) {
    CUDA_CHECK(cudaMemcpyAsync(peers.parts[0] + rank * stride, peers.x[rank], bytes,
                               cudaMemcpyDefault, team.streams[rank]));
    team.wait(0, rank);
  }
  add_parts_kernel<T><<<team.blocks_for(vectors_of<T>(n)), kThreads, 0, team.streams[0]>>>(
      peers.x[0], peers.parts[0], stride, team.size(), peers.y[0], n);
  CUDA_CHECK(cudaGetLastError());
  for (int rank = 1; rank < team.size(); ++rank) {
    team.wait(rank, 0);
    CUDA_CHECK(
        cudaMemcpyAsync(peers.y[rank], peers.y[0], bytes, cudaMemcpyDefault, team.streams[rank]));
  }
}

}  // namespace all_reduce
