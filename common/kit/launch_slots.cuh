// Device memory for launches that may run side by side: each takes the next of several slots.
//
// A slot is left as it was found, so nothing is cleared in between. A launch has one for itself as
// long as the one kSlots launches before it, in whichever stream, has ended. A graph keeps the slot
// of the launch it recorded: do not replay it beside direct launches, or twice at a time.
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <cstddef>

#include "common/kit/check.cuh"

namespace kit {

template <class Slot, std::size_t kSlots>
class LaunchSlots {
  static_assert((kSlots & (kSlots - 1)) == 0, "the turns go on where the count of launches wraps");

 public:
  // `symbol`: a __device__ variable. The slots are those of the device that is current now; made at
  // the first launch and kept, they serve that one device.
  explicit LaunchSlots(const Slot (&symbol)[kSlots]) {
    void* address = nullptr;
    CUDA_CHECK(cudaGetSymbolAddress(&address, symbol));
    first_ = static_cast<Slot*>(address);
  }

  // Device pointer; may be called by several threads.
  Slot* next() { return first_ + launches_++ % kSlots; }

 private:
  Slot* first_ = nullptr;
  std::atomic<unsigned> launches_{0};
};

}  // namespace kit
