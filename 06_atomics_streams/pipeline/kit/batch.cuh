// What the rungs of `pipeline` work with: a batch of numbers, cut into chunks, and the three things
// that happen to each chunk. A rung decides in which stream and in which order they happen.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "06_atomics_streams/kit/observer.hpp"
#include "06_atomics_streams/kit/xorshift.cuh"
#include "common/kit/check.cuh"
#include "common/kit/device_buffer.cuh"

namespace pipeline {

__global__ void pipeline_mix_kernel(const unsigned* in, unsigned* out, std::int64_t n, int rounds) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned v = in[i];
  for (int r = 0; r < rounds; ++r) v = atomics_streams::xorshift(v);
  out[i] = v;
}

// Host memory that the operating system cannot move, so that the copy engine can read it
// unattended.
class PinnedArray {
 public:
  explicit PinnedArray(std::int64_t count) {
    CUDA_CHECK(cudaMallocHost(&data_, std::max<std::size_t>(1, count * sizeof(unsigned))));
  }
  ~PinnedArray() { cudaFreeHost(data_); }
  PinnedArray(const PinnedArray&) = delete;
  PinnedArray& operator=(const PinnedArray&) = delete;
  unsigned* data() const { return data_; }

 private:
  unsigned* data_ = nullptr;
};

constexpr int kMostStreams = 8;

class Batch {
 public:
  // n numbers in at most `most_chunks` chunks of equal size, the last one perhaps smaller.
  Batch(std::int64_t n, int most_chunks, int rounds)
      : n_(n),
        rounds_(rounds),
        chunk_(std::max<std::int64_t>(1, (n + most_chunks - 1) / most_chunks)),
        pinned_in_(n),
        pinned_out_(n),
        d_in_(n),
        d_out_(n) {
    for (cudaStream_t& s : streams_)
      CUDA_CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    for (int c = 0; c < chunks(); ++c) {
      for (auto* events : {&arrived_, &computed_, &left_}) {
        cudaEvent_t event = nullptr;  // for order alone: cheaper than one that takes the time
        CUDA_CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
        events->push_back(event);
      }
    }
  }
  ~Batch() {
    for (cudaStream_t stream : streams_) cudaStreamDestroy(stream);
    for (auto* events : {&arrived_, &computed_, &left_}) {
      for (cudaEvent_t event : *events) cudaEventDestroy(event);
    }
  }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  // Which host memory the next run reads and writes.
  void use_host(const unsigned* in, unsigned* out) {
    in_ = in;
    out_ = out;
  }
  unsigned* pinned_in() const { return pinned_in_.data(); }
  unsigned* pinned_out() const { return pinned_out_.data(); }

  int chunks() const { return static_cast<int>((n_ + chunk_ - 1) / chunk_); }
  cudaStream_t stream(int s) const { return streams_[s]; }

  // region stages
  // The three stages of chunk `c`. On the device it lives in slot `slot`, of which there are
  // chunks(); each call returns before the work is done, unless the host memory is pageable.
  void copy_in(int c, int slot, cudaStream_t stream) {
    begin("copy in", c, stream);
    CUDA_CHECK(cudaMemcpyAsync(d_in_.data() + slot * chunk_, in_ + c * chunk_, bytes(c),
                               cudaMemcpyHostToDevice, stream));
    end(stream);
  }
  void compute(int c, int slot, cudaStream_t stream) {
    const int block = 256;
    begin("kernel", c, stream);
    pipeline_mix_kernel<<<(length(c) + block - 1) / block, block, 0, stream>>>(
        d_in_.data() + slot * chunk_, d_out_.data() + slot * chunk_, length(c), rounds_);
    CUDA_CHECK(cudaGetLastError());
    end(stream);
  }
  void copy_out(int c, int slot, cudaStream_t stream) {
    begin("copy out", c, stream);
    CUDA_CHECK(cudaMemcpyAsync(out_ + c * chunk_, d_out_.data() + slot * chunk_, bytes(c),
                               cudaMemcpyDeviceToHost, stream));
    end(stream);
  }
  // endregion

  // Events of chunk `c`: its input is on the device, its result is, its result has left.
  cudaEvent_t arrived(int c) const { return arrived_[c]; }
  cudaEvent_t computed(int c) const { return computed_[c]; }
  cudaEvent_t left(int c) const { return left_[c]; }

  void synchronize() const {
    for (cudaStream_t stream : streams_) CUDA_CHECK(cudaStreamSynchronize(stream));
  }

  // While set, it hears of every stage, labelled with the number of its chunk.
  void set_observer(atomics_streams::Observer* observer) { observer_ = observer; }

 private:
  std::int64_t length(int c) const { return std::min(chunk_, n_ - c * chunk_); }
  std::size_t bytes(int c) const { return length(c) * sizeof(unsigned); }
  void begin(const char* stage, int c, cudaStream_t stream) {
    if (observer_ != nullptr) observer_->begin(stage, c, stream);
  }
  void end(cudaStream_t stream) {
    if (observer_ != nullptr) observer_->end(stream);
  }

  std::int64_t n_;
  int rounds_;
  std::int64_t chunk_;  // elements
  PinnedArray pinned_in_, pinned_out_;
  kit::DeviceBuffer<unsigned> d_in_, d_out_;
  const unsigned* in_ = nullptr;
  unsigned* out_ = nullptr;
  cudaStream_t streams_[kMostStreams] = {};
  std::vector<cudaEvent_t> arrived_, computed_, left_;
  atomics_streams::Observer* observer_ = nullptr;
};

}  // namespace pipeline
