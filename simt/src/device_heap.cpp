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

namespace {

// pc: of the code that frees or deletes.
void give_back(void* pointer, const void* pc) {
  const bool holds = heap_holds(pointer);
  if (!holds && (!state.block || !pointer)) return std::free(pointer);
  if (holds && heap_free(pointer)) return;
  const std::string who = state.block ? describe_current_thread() : "host code";
  const char* what =
      holds ? "no object of the device's heap (any more): " : "not in the device's heap: ";
  Finding finding{"invalid-free",
                  who + ": free or delete of what is " + what + describe_address(pointer)};
  finding.pc = pc;
  report(finding);
}

}  // namespace

void device_free(void* pointer) { give_back(pointer, __builtin_return_address(0)); }

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
static void remove(void* pointer, const void* pc) {
  if (simt::heap_holds(pointer)) {
    simt::give_back(pointer, pc);
  } else {
    std::free(pointer);
  }
}
__attribute__((weak)) void operator delete(void* pointer) noexcept {
  remove(pointer, __builtin_return_address(0));
}
__attribute__((weak)) void operator delete(void* pointer, std::size_t) noexcept {
  remove(pointer, __builtin_return_address(0));
}
__attribute__((weak)) void operator delete(void* pointer, std::align_val_t) noexcept {
  remove(pointer, __builtin_return_address(0));
}
