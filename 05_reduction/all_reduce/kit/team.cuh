// The devices that reduce together, their ranks 0 to size - 1. Rank r is device r. A kernel gets
// Peers: pointers into the memory of all devices, which all of them may use (peer access).
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "05_reduction/all_reduce/kit/vector.cuh"
#include "common/kit/check.cuh"
#include "common/kit/devices.cuh"
#include "common/kit/meet.cuh"
#include "common/kit/patience.cuh"

namespace all_reduce {

using kit::for_each_rank;
using kit::kMostDevices;
using kit::meet;
using kit::Patience;
// On a CPU fewer threads and blocks show the same.
constexpr int kThreads = kit::kHasGpu ? 512 : 64;
// Blocks wait for blocks of other devices, so all of a grid must be on its chip at once. A kernel
// that waits is compiled so that two blocks fit on an SM; no device gets more.
constexpr int kBlocksPerSm = 2;
constexpr int kMostBlocks = kit::kHasGpu ? 320 : 8;

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
struct Team : kit::Devices {
  Peers<T> peers;
  HostMemory<T>* host = nullptr;
  kit::Devices parts_out, sums_out;  // two streams more for each device
  int most_blocks = 1;               // that all devices can hold at once

  // Blocks for so many items, one for each thread and turn: on every device the same number.
  int blocks_for(std::int64_t items) const {
    const std::int64_t blocks = (items + kThreads - 1) / kThreads;
    return static_cast<int>(std::clamp<std::int64_t>(blocks, 1, most_blocks));
  }
};

}  // namespace all_reduce
