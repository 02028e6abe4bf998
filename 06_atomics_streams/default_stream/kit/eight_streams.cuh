// Eight streams, a long kernel for each, and a tiny one after each in some default stream.
#pragma once

#include <cuda_runtime.h>

#include <string>

#include "06_atomics_streams/kit/observer.hpp"
#include "06_atomics_streams/kit/xorshift.cuh"
#include "common/kit/check.cuh"

namespace default_stream {

constexpr int kEightStreams = 8;
constexpr int kWidth = 64;  // threads of a long kernel: one block, far from filling the GPU

// y[first + i] = `rounds` rounds of xorshift on first + i + 1.
__global__ void default_stream_spin_kernel(unsigned* y, int first, int rounds) {
  unsigned v = first + threadIdx.x + 1;
  for (int r = 0; r < rounds; ++r) v = atomics_streams::xorshift(v);
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

// Eight long kernels, each followed by a tiny one in `default_stream`. `caller` is where the time
// is taken; observer may be null.
inline void launch_eight(EightStreams& streams, cudaStream_t default_stream, unsigned* y,
                         int rounds, cudaStream_t caller, atomics_streams::Observer* observer) {
  streams.fork(caller, default_stream);
  for (int s = 0; s < kEightStreams; ++s) {
    if (observer != nullptr) observer->begin("stream " + std::to_string(s), s, streams[s]);
    default_stream_spin_kernel<<<1, kWidth, 0, streams[s]>>>(y, s * kWidth, rounds);
    if (observer != nullptr) observer->end(streams[s]);
    default_stream_spin_kernel<<<1, 1, 0, default_stream>>>(y, kEightStreams * kWidth + s, 1);
  }
  CUDA_CHECK(cudaGetLastError());
  streams.join(caller, default_stream);
}

}  // namespace default_stream
