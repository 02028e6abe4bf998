// The devices that compute attention together, and what each of them has. Rank r is device r.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>

#include "07_flash_attention/ring/kit/sharding.hpp"
#include "07_flash_attention/shape.hpp"
#include "common/kit/check.cuh"
#include "common/kit/devices.cuh"

namespace ring_attention {

using kit::for_each_rank;
using kit::kMostDevices;

// What a rank has on its device. Rows are tokens, `rows` of them in each head; dense, row-major,
// aligned to 16 bytes.
template <class T>
struct Shard {
  const T* q = nullptr;          // [heads, rows, d]
  const T* kv = nullptr;         // [2, heads, rows, d]: the keys, then the values
  T* o = nullptr;                // [heads, rows, d]
  float* lse = nullptr;          // [heads, rows]: log-sum-exp, of the keys so far
  float* state = nullptr;        // [heads, rows, d]: O of the keys so far, between two steps
  T* inbox = nullptr;            // room for keys and values of size - 1 shards, at least two
  int* tile_counts = nullptr;    // two zeros
  unsigned* arrivals = nullptr;  // kMostPieces flags, at first 0
};

template <class T>
struct Team {
  kit::Devices devices;  // their streams compute
  kit::Devices copies;   // and these copy
  Shard<T> shards[kMostDevices];
  Sharding sharding;
  int heads, d;  // of all sequences together; elements of a query, a key, a value
  std::int64_t first_piece = 8 << 20;  // bytes, where a shard comes in pieces
  // On the host, beside the flags: the last number that they were given. The calls of one team come
  // from one host thread at a time.
  unsigned* last_number = nullptr;

  int size() const { return devices.size(); }
  // Elements of the keys of a rank's shard; its values have as many.
  std::int64_t keys(int rank) const { return std::int64_t{heads} * sharding.rows(rank) * d; }
  // To whom a rank sends.
  int next(int rank) const { return (rank + 1) % size(); }
  // A part of a rank's inbox: `slot` below size - 1, or below two.
  T* inbox(int rank, int slot) const {
    return shards[rank].inbox + std::int64_t{2} * slot * heads * sharding.most_rows() * d;
  }
};

// Calls launch(std::integral_constant<int, d>(), std::bool_constant<is_diagonal>()). Throws Skip
// for a d that kernels are not compiled for here.
template <class Launch>
void with_head_dim(int d, bool is_diagonal, Launch launch) {
  const auto with_mask = [&](auto head_dim) {
    is_diagonal ? launch(head_dim, std::true_type{}) : launch(head_dim, std::false_type{});
  };
  if (d == 64) return with_mask(std::integral_constant<int, 64>());
  if (d == 128) return with_mask(std::integral_constant<int, 128>());
  throw kit::Skip("is compiled for d = 64 and 128, not " + std::to_string(d));
}

// What scores are multiplied by, for powers of two.
inline float scale_of(int d) { return attention::kLog2E / std::sqrt(static_cast<float>(d)); }

// What `stream` is asked for from now on comes after what the event of rank `rank` has recorded.
inline void wait(cudaStream_t stream, const kit::Devices& devices, int rank) {
  CUDA_CHECK(cudaStreamWaitEvent(stream, devices.events[rank], 0));
}
// Lets the event of every rank record what its stream has been asked for.
inline void record(const kit::Devices& devices) {
  for (int rank = 0; rank < devices.size(); ++rank) {
    CUDA_CHECK(cudaEventRecord(devices.events[rank], devices.streams[rank]));
  }
}

}  // namespace ring_attention
