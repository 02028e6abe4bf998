// Device memory that a rung needs beside the problem's arrays. The problem owns it, so that rungs
// need not allocate and one piece of memory serves them all; what a rung asked for is what the
// column "extra memory" shows.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "common/bench/report.hpp"
#include "common/bench/variant.cuh"
#include "common/kit/check.cuh"
#include "common/kit/device_buffer.cuh"

class Workspace {
 public:
  // `count` elements, uninitialised, aligned to 256 bytes. Throws kit::Skip if the device has
  // not that much memory left.
  template <class U>
  U* get(std::int64_t count) {
    const std::int64_t bytes = count * static_cast<std::int64_t>(sizeof(U));
    asked_ = std::max(asked_, bytes);
    if (buffer_.bytes() < bytes) {
      buffer_ = kit::DeviceBuffer<unsigned char>();
      std::size_t free_bytes = 0, total_bytes = 0;
      CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
      // A tenth stays free for what the runtime itself may want.
      if (static_cast<double>(bytes) > 0.9 * static_cast<double>(free_bytes)) {
        throw kit::Skip("needs " + bench::short_number(static_cast<double>(bytes) / 1e9) +
                        " GB of extra memory");
      }
      buffer_ = kit::DeviceBuffer<unsigned char>(bytes);
    }
    return reinterpret_cast<U*>(buffer_.data());
  }

  void forget() { asked_ = 0; }
  double asked_bytes() const { return static_cast<double>(asked_); }  // since forget(), at most
  std::int64_t held_bytes() const { return buffer_.bytes(); }

 private:
  kit::DeviceBuffer<unsigned char> buffer_;
  std::int64_t asked_ = 0;
};
