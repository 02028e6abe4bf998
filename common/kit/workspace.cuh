// Device memory that a library asks for: allocated once per size, by the run that is checked, so
// no timed run allocates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "common/kit/device_buffer.cuh"

namespace kit {

// For functions of the form call(memory, bytes) that do their work in `bytes` of memory, and only
// set `bytes` to what they need if memory is null. scratch(n, call) does the work; it asks first if
// n, the number of elements, is not that of the last time. Copies share their memory.
class Workspace {
 public:
  template <class Call>
  void operator()(std::int64_t n, Call call) const {
    if (held_->n != n) {
      held_->bytes = 0;
      call(nullptr, held_->bytes);
      // Never null: that would be a question.
      held_->buffer = DeviceBuffer<char>(static_cast<std::int64_t>(held_->bytes) + 1);
      held_->n = n;
    }
    std::size_t bytes = held_->bytes;
    call(static_cast<void*>(held_->buffer.data()), bytes);
  }

 private:
  struct Held {
    std::int64_t n = -1;
    std::size_t bytes = 0;
    DeviceBuffer<char> buffer;
  };
  std::shared_ptr<Held> held_ = std::make_shared<Held>();
};

}  // namespace kit
