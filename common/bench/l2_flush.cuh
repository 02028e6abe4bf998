// Empties the L2 cache of what earlier launches left there, so that a sample is cold.
//
// It writes, and so leaves the cache full of lines that must still go to memory. That is the fair
// way: the timed kernel pays for as many foreign lines as it leaves unwritten itself at its end.
// A flush that only reads would let a kernel hide one L2's worth of its own writes.
#pragma once

#include "common/bench/device_facts.cuh"
#include "common/kit/check.cuh"
#include "common/kit/device_buffer.cuh"

namespace bench {

class L2Flush {
 public:
  explicit L2Flush(const DeviceFacts& facts) : buffer_(bytes(facts)) {}

  // Device memory that it takes.
  static std::int64_t bytes(const DeviceFacts& facts) {
    return static_cast<std::int64_t>(facts.l2_bytes) * kTimesL2;
  }

  // Enqueues the flush in `stream`; what follows in that stream starts cold.
  void enqueue(cudaStream_t stream) {
    if (buffer_.bytes() == 0) return;
    CUDA_CHECK(cudaMemsetAsync(buffer_.data(), 0, buffer_.bytes(), stream));
  }

 protected:  // a test looks into it
  kit::DeviceBuffer<char> buffer_;

 private:
  static constexpr int kTimesL2 = 4;  // several times: replacement is not strictly oldest-first
};

}  // namespace bench
