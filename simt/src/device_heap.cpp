// malloc, new, free and delete of device code.

#include "simt/device_heap.h"

#include <cstdlib>
#include <new>

#include "engine.h"
#include "memory.h"
#include "simt/runtime_api.h"
#include "simt/runtime_types.h"

namespace simt {

void* device_malloc(size_t bytes, Location at) {
  if (!state.block) return std::malloc(bytes);
  return heap_allocate(bytes, 16, at);
}

void device_free(void* pointer) {
  if (!heap_holds(pointer)) {
    if (state.block && pointer)
      report({"invalid-free", describe_current_thread() +
                                  ": free or delete of what is not in the " +
                                  "device's heap: " + describe_address(pointer)});
    else
      std::free(pointer);
    return;
  }
  if (heap_free(pointer)) return;
  const std::string what =
      std::string(state.block ? describe_current_thread() : "host code") +
      ": free or delete of what is no object of the device's heap (any more): ";
  report({"invalid-free", what + describe_address(pointer)});
}

void* device_new(size_t bytes, size_t alignment, DeviceHeap heap) {
  if (state.block) return heap_allocate(bytes, alignment, heap.at);
  return alignment > 16 ? ::operator new(bytes, std::align_val_t(alignment))
                        : ::operator new(bytes);
}

void note_range(const void* address, size_t bytes, bool writes, const void* pc) {
  if (observer && state.block) observer->range(address, bytes, writes, pc);
}

}  // namespace simt

// A destructor that deletes its object was compiled for host and device alike. All other forms of
// delete come by here. Weak: a program may have its own.
__attribute__((weak)) void operator delete(void* pointer) noexcept {
  if (simt::heap_holds(pointer)) {
    simt::device_free(pointer);
  } else {
    std::free(pointer);
  }
}
__attribute__((weak)) void operator delete(void* pointer, std::size_t) noexcept {
  operator delete(pointer);
}
__attribute__((weak)) void operator delete(void* pointer, std::align_val_t) noexcept {
  operator delete(pointer);
}
