// SPDX-License-Identifier: MIT
// Device memory that a rung or a library needs beside the problem's arrays. Who has it owns it, so
// that rungs need not allocate: it is allocated by the run that is checked, and no timed run
// allocates.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>

#include "common/kit/check.cuh"
#include "common/kit/device_buffer.cuh"

namespace kit {

// Copies share their memory.
class Workspace {
 public:
  // `count` elements, uninitialised, aligned to 256 bytes; the same memory as the last time, if
  // that was enough. Throws Skip if the device has not that much memory left.
  template <class T>
  T* get(std::int64_t count) const {
    const std::int64_t bytes = count * static_cast<std::int64_t>(sizeof(T));
    held_->asked = std::max(held_->asked, bytes);
    if (held_->buffer.bytes() < bytes) {
      held_->buffer = DeviceBuffer<unsigned char>();
      std::size_t free_bytes = 0, total_bytes = 0;
      CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
      // A tenth stays free for what the runtime itself may want.
      if (static_cast<double>(bytes) > 0.9 * static_cast<double>(free_bytes)) {
        char text[64];
        std::snprintf(text, sizeof text, "needs %.4g GB of extra memory", 1e-9 * bytes);
        throw Skip(text);
      }
      held_->buffer = DeviceBuffer<unsigned char>(bytes);
    }
    return reinterpret_cast<T*>(held_->buffer.data());
  }

  void forget() { held_->asked = 0; }
  double asked_bytes() const { return static_cast<double>(held_->asked); }  // since forget()
  std::int64_t held_bytes() const { return held_->buffer.bytes(); }

 private:
  struct Held {
    DeviceBuffer<unsigned char> buffer;
    std::int64_t asked = 0;
  };
  std::shared_ptr<Held> held_ = std::make_shared<Held>();
};

// For functions of the form call(memory, bytes) that do their work in `bytes` of memory, and only
// set `bytes` to what they need if memory is null: those of CUB. library(n, call) does the work; it
// asks first if n, the number of elements, is not that of the last time. Copies share all of it.
class LibraryCall {
 public:
  template <class Call>
  void operator()(std::int64_t n, Call call) const {
    if (asked_->n != n) {
      asked_->bytes = 0;
      call(nullptr, asked_->bytes);
      asked_->n = n;
    }
    std::size_t bytes = asked_->bytes;
    // Never null: that would be a question.
    void* const memory = workspace_.get<char>(static_cast<std::int64_t>(bytes) + 1);
    call(memory, bytes);
  }

 private:
  struct Asked {
    std::int64_t n = -1;
    std::size_t bytes = 0;
  };
  std::shared_ptr<Asked> asked_ = std::make_shared<Asked>();
  Workspace workspace_;
};

}  // namespace kit
