// Problem D2: eight streams, each with one small, long kernel, and between them one tiny launch
// after the other in the default stream. Do the eight run side by side?
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "06_atomics_streams/pipeline/batch.cuh"
#include "06_atomics_streams/trace.cuh"
#include "common/compare.hpp"
#include "common/cuda_check.cuh"
#include "common/guarded_array.cuh"
#include "common/host_buffer.hpp"
#include "common/report.hpp"

constexpr int kEightStreams = 8;
constexpr int kWidth = 64;  // threads of a long kernel: one block, far from filling the GPU

struct DefaultStream {
  static constexpr const char* name = "default_stream";

  int rounds;
  // kWidth numbers of each stream, then one of each tiny kernel.
  common::GuardedArray<unsigned> y;
  common::HostBuffer<unsigned> expected;

  explicit DefaultStream(int rounds)
      : rounds(rounds),
        y("y", common::Role::output, kEightStreams * (kWidth + 1)),
        expected(kEightStreams * (kWidth + 1)) {
    for (std::int64_t i = 0; i < expected.size(); ++i) {
      unsigned v = static_cast<unsigned>(i) + 1;  // xorshift never leaves 0
      const int steps = i < kEightStreams * kWidth ? rounds : 1;
      for (int r = 0; r < steps; ++r) v = xorshift(v);
      expected[i] = v;
    }
  }

  template <class Visit>
  void each_array(Visit visit) {
    visit(y);
  }

  common::Comparison check() const {
    return common::compare(y.fetched(), expected.data(), expected.size(), 0.0);
  }

  common::Sizes sizes() const { return {{"streams", kEightStreams}, {"rounds", rounds}}; }
  double bytes() const { return 0; }
  double flops() const { return 0; }
};

// y[first + i] = `rounds` rounds of xorshift on first + i + 1.
__global__ void default_stream_spin_kernel(unsigned* y, int first, int rounds) {
  unsigned v = first + threadIdx.x + 1;
  for (int r = 0; r < rounds; ++r) v = xorshift(v);
  y[first + threadIdx.x] = v;
}

// Eight streams of one kind, tied to the caller's stream at both ends so that it can be timed
// there.
class EightStreams {
 public:
  // flags: cudaStreamDefault or cudaStreamNonBlocking.
  explicit EightStreams(unsigned flags) {
    for (cudaStream_t& stream : streams_) CUDA_CHECK(cudaStreamCreateWithFlags(&stream, flags));
    for (cudaEvent_t& event : done_) {
      CUDA_CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    }
  }
  ~EightStreams() {
    for (cudaStream_t stream : streams_) cudaStreamDestroy(stream);
    for (cudaEvent_t event : done_) cudaEventDestroy(event);
  }
  EightStreams(const EightStreams&) = delete;
  EightStreams& operator=(const EightStreams&) = delete;

  cudaStream_t operator[](int s) const { return streams_[s]; }

  // What comes next in these streams and in `other` starts after what is in `caller` now.
  void fork(cudaStream_t caller, cudaStream_t other) {
    CUDA_CHECK(cudaEventRecord(done_[0], caller));
    for (cudaStream_t stream : streams_) CUDA_CHECK(cudaStreamWaitEvent(stream, done_[0]));
    CUDA_CHECK(cudaStreamWaitEvent(other, done_[0]));
  }
  // What comes next in `caller` starts after all of them.
  void join(cudaStream_t caller, cudaStream_t other) {
    for (int s = 0; s <= kEightStreams; ++s) {
      CUDA_CHECK(cudaEventRecord(done_[s], s < kEightStreams ? streams_[s] : other));
      CUDA_CHECK(cudaStreamWaitEvent(caller, done_[s]));
    }
  }

 private:
  cudaStream_t streams_[kEightStreams] = {};
  cudaEvent_t done_[kEightStreams + 1] = {};
};
