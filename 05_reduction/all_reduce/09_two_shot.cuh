// two_shot: each rank adds one slice for all and pushes the sum to all.
//
// In one shot every rank sends its whole array to everybody: size - 1 arrays. Here it sends each
// peer only that peer's slice, and later the sum of its own slice: 2 (size - 1) / size arrays, as
// the ring, in two steps instead of 2 (size - 1). With two ranks that is as much as before, with
// eight a quarter. The second wait tells also that the parts have been read, so one inbox is
// enough. What is still wrong: three trips more over the link, which small messages feel.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "05_reduction/all_reduce/kit/team.cuh"
#include "05_reduction/all_reduce/kit/vector.cuh"
#include "common/kit/check.cuh"
#include "common/kit/meet.cuh"

namespace all_reduce {

// Vectors of a slice; the last slices may be shorter, or empty.
template <class T>
__host__ __device__ std::int64_t slice_vectors(std::int64_t n, int size) {
  return (vectors_of<T>(n) + size - 1) / size;
}

template <class T>
__global__ void __launch_bounds__(kThreads, kBlocksPerSm)
    two_shot_kernel(Peers<T> peers, int rank, std::int64_t n) {
  unsigned* const kept = peers.epochs[rank] + blockIdx.x;
  const unsigned epoch = *kept;
  const std::int64_t slice = slice_vectors<T>(n, peers.size);
  const std::int64_t mine = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const std::int64_t grid = std::int64_t{gridDim.x} * kThreads;
  const auto count = [&](int of) {
    const std::int64_t left = vectors_of<T>(n) - of * slice;
    return left < slice ? left : slice;
  };
  auto* const parts = reinterpret_cast<Vector<T>*>(peers.parts[rank]);

  // Reduce-scatter. A block handles the same vectors of all slices, so its own flags are enough.
  for (int step = 1; step < peers.size; ++step) {
    const int to = (rank + step) % peers.size;  // not all to the same at once
    auto* const there = reinterpret_cast<Vector<T>*>(peers.parts[to]);
    for (std::int64_t v = mine; v < count(to); v += grid) {
      there[rank * slice + v] = load(peers.x[rank], to * slice + v, n);
    }
  }
  meet(peers, rank, epoch + 1);

  // Who has met here has begun this call: its y may be written.
  for (std::int64_t v = mine; v < count(rank); v += grid) {
    const std::int64_t at = rank * slice + v;
    Sum<T> sum;
    for (int r = 0; r < peers.size; ++r) {
      sum.add(r == rank ? load(peers.x[rank], at, n) : parts[r * slice + v]);
    }
    const Vector<T> result = sum.rounded();
    for (int step = 0; step < peers.size; ++step) {
      store(peers.y[(rank + step) % peers.size], at, n, result);
    }
  }
  meet(peers, rank, epoch + 2);
  if (threadIdx.x == 0) *kept = epoch + 2;
}

// y of every rank = the sum of all x, in the order of the ranks. In the streams of the team.
template <class T>
void all_reduce_two_shot(const Team<T>& team, std::int64_t n) {
  if (n == 0) return;
  const int blocks = team.blocks_for(slice_vectors<T>(n, team.size()));
  for_each_rank(team, [&](int rank, cudaStream_t stream) {
    two_shot_kernel<T><<<blocks, kThreads, 0, stream>>>(team.peers, rank, n);
    CUDA_CHECK(cudaGetLastError());
  });
}

}  // namespace all_reduce
