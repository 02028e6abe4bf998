// The devices that reduce together, their ranks 0 to size - 1. Rank r is device r. A kernel gets
// Peers: pointers into the memory of all devices, which all of them may use (peer access).
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "05_reduction/all_reduce/kit/vector.cuh"
#include "common/kit/check.cuh"

namespace all_reduce {

constexpr int kMostDevices = 8;
// On a CPU fewer threads and blocks show the same.
constexpr int kThreads = kit::kHasGpu ? 512 : 64;
// Blocks wait for blocks of other devices, so all of a grid must be on the chip at once: one for
// each SM of a large GPU is enough to fill the links.
constexpr int kMostBlocks = kit::kHasGpu ? 128 : 8;

template <class T>
struct Peers {
  int size = 0;                   // devices
  const T* x[kMostDevices] = {};  // n elements each, aligned to 16 bytes, as all of these
  T* y[kMostDevices] = {};        // n elements each
  // What others send. inbox: 2 x size x inbox_vectors; parts: size x padded(n) elements; packets:
  // 2 x size x kMostBlocks * kThreads.
  Vector<T>* inbox[kMostDevices] = {};
  std::int64_t inbox_vectors = 0;
  T* parts[kMostDevices] = {};
  std::uint64_t* packets[kMostDevices] = {};
  // Flags of each block, one for each peer, and how often the block has waited for all. Zero before
  // the first call; rungs may follow one another in any order.
  unsigned* flags[kMostDevices] = {};   // kMostBlocks x kMostDevices
  unsigned* epochs[kMostDevices] = {};  // kMostBlocks
};

// n, rounded up to whole vectors.
template <class T>
std::int64_t padded(std::int64_t n) {
  return vectors_of<T>(n) * Vector<T>::kSize;
}

// What rung through_host has of the host.
template <class T>
struct HostMemory {
  T* data = nullptr;  // size x n elements, page-locked
  int size = 0;
  std::int64_t n = 0;
};

template <class T>
struct Team {
  Peers<T> peers;
  cudaStream_t streams[kMostDevices] = {};  // each of its own device, as are the events
  cudaEvent_t events[kMostDevices] = {};
  HostMemory<T>* host = nullptr;

  int size() const { return peers.size; }
  // What stream `rank` is asked for from now on comes behind what was asked of stream `other`.
  void wait(int rank, int other) const {
    CUDA_CHECK(cudaEventRecord(events[other], streams[other]));
    CUDA_CHECK(cudaStreamWaitEvent(streams[rank], events[other], 0));
  }
};

// Calls f(rank, stream) for every rank, with its device as the current one; then rank 0's is again.
template <class T, class Function>
void for_each_rank(const Team<T>& team, Function f) {
  for (int rank = 0; rank < team.size(); ++rank) {
    CUDA_CHECK(cudaSetDevice(rank));
    f(rank, team.streams[rank]);
  }
  CUDA_CHECK(cudaSetDevice(0));
}

// Blocks for so many items, one for each thread and turn.
inline int blocks_for(std::int64_t items) {
  const std::int64_t blocks = (items + kThreads - 1) / kThreads;
  return static_cast<int>(std::clamp<std::int64_t>(blocks, 1, kMostBlocks));
}

}  // namespace all_reduce
