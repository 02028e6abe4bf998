// Device memory that a library asks for: allocated once per size, by the run that is checked, so
// no timed run allocates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "common/device_buffer.cuh"

namespace common {

// Call as scratch(n, query), where query() returns the bytes that n elements need. Copies share
// their memory.
class LibraryScratch {
 public:
  struct Memory {
    void* data;
    std::size_t bytes;
  };

  template <class Query>
  Memory operator()(std::int64_t n, Query query) const {
    if (held_->n != n) {
      held_->bytes = query();
      // Never null: that would be a question.
      held_->buffer = DeviceBuffer<char>(static_cast<std::int64_t>(held_->bytes) + 1);
      held_->n = n;
    }
    return {held_->buffer.data(), held_->bytes};
  }

 private:
  struct Held {
    std::int64_t n = -1;
    std::size_t bytes = 0;
    DeviceBuffer<char> buffer;
  };
  std::shared_ptr<Held> held_ = std::make_shared<Held>();
};

}  // namespace common
