// pieces: two_shot again, but the copy engines send, while the SMs add.
//
// A copy engine fills the links better than stores of the SMs do, and needs none of them. Each
// slice is cut in pieces, and each rank has three streams: one sends parts, one adds what has come
// in, one sends sums. While a piece is added, the next one is under way, and sums go out beside it.
// What is still wrong: a copy takes microseconds to begin, so only large messages gain.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "05_reduction/all_reduce/kit/team.cuh"
#include "05_reduction/all_reduce/kit/vector.cuh"
#include "common/kit/check.cuh"
#include "common/kit/devices.cuh"

namespace all_reduce {

// What is gained by more pieces is lost by their beginnings. On a CPU small messages show the same.
constexpr std::int64_t kPieceBytes = kit::kHasGpu ? 32 << 20 : 1 << 12;

// y = the sum of x[0], x[1], ..., in this order, of n elements each.
template <class T>
struct Addends {
  const T* x[kMostDevices] = {};
  int size = 0;
};
template <class T>
__global__ void __launch_bounds__(kThreads)
    add_piece_kernel(Addends<T> addends, T* y, std::int64_t n) {
  const std::int64_t grid = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t v = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; v < vectors_of<T>(n);
       v += grid) {
    Sum<T> sum;
    for (int r = 0; r < addends.size; ++r) sum.add(load(addends.x[r], v, n));
    store(y, v, n, sum.rounded());
  }
}

// y of every rank = the sum of all x, in the order of the ranks. In the streams of the team.
template <class T>
void all_reduce_pieces(const Team<T>& team, std::int64_t n) {
  if (n == 0) return;
  const Peers<T>& peers = team.peers;
  const int size = team.size();
  // In elements, whole vectors: what a rank adds for all, and how much of it at a time.
  const std::int64_t slice = (vectors_of<T>(n) + size - 1) / size * Vector<T>::kSize;
  const std::int64_t piece = std::min<std::int64_t>(slice, kPieceBytes / sizeof(T));
  // How much of piece `first` of a rank's slice there is; the last slices may be shorter, or empty.
  const auto count = [&](int of, std::int64_t first) {
    return std::clamp<std::int64_t>(n - (of * slice + first), 0, std::min(piece, slice - first));
  };
  const auto all_wait_for_all = [size](const kit::Devices& waiting, const kit::Devices& others) {
    for (int r = 0; r < size; ++r) CUDA_CHECK(cudaEventRecord(others.events[r], others.streams[r]));
    for (int r = 0; r < size; ++r) {
      for (int other = 0; other < size; ++other) {
        CUDA_CHECK(cudaStreamWaitEvent(waiting.streams[r], others.events[other], 0));
      }
    }
  };

  // Everybody has come to this call: its memory may be written.
  all_wait_for_all(team.parts_out, team);
  all_wait_for_all(team.sums_out, team);
  for (std::int64_t first = 0; first < slice; first += piece) {
    for (int rank = 0; rank < size; ++rank) {
      for (int step = 1; step < size; ++step) {
        const int to = (rank + step) % size;  // not all to the same at once
        if (count(to, first) == 0) continue;
        CUDA_CHECK(cudaMemcpyAsync(peers.parts[to] + rank * slice + first,
                                   peers.x[rank] + to * slice + first, count(to, first) * sizeof(T),
                                   cudaMemcpyDefault, team.parts_out.streams[rank]));
      }
    }
    all_wait_for_all(team, team.parts_out);

    for_each_rank(team, [&](int rank, cudaStream_t stream) {
      if (count(rank, first) == 0) return;
      Addends<T> addends;
      addends.size = size;
      for (int r = 0; r < size; ++r) addends.x[r] = peers.parts[rank] + r * slice + first;
      const std::int64_t at = rank * slice + first;
      addends.x[rank] = peers.x[rank] + at;
      add_piece_kernel<T>
          <<<team.blocks_for(vectors_of<T>(count(rank, first))), kThreads, 0, stream>>>(
              addends, peers.y[rank] + at, count(rank, first));
      CUDA_CHECK(cudaGetLastError());
      CUDA_CHECK(cudaEventRecord(team.events[rank], stream));
      CUDA_CHECK(cudaStreamWaitEvent(team.sums_out.streams[rank], team.events[rank], 0));
      for (int step = 1; step < size; ++step) {
        CUDA_CHECK(cudaMemcpyAsync(peers.y[(rank + step) % size] + at, peers.y[rank] + at,
                                   count(rank, first) * sizeof(T), cudaMemcpyDefault,
                                   team.sums_out.streams[rank]));
      }
    });
  }
  all_wait_for_all(team, team.sums_out);
}

}  // namespace all_reduce
