// Memory that device code asks for by itself: malloc and new take it from the device's heap
// (cudaLimitMallocHeapSize), where it stays from launch to launch until device code frees it. And
// the copies of the C library, which a build with checks must see. The front end puts these in
// place of what the program wrote; of functions for host and device the host's half is the C
// library's.
#pragma once

#include <cstddef>
#include <new>

#include "simt/build_mode.h"
#include "simt/location.h"

namespace simt {

void* device_malloc(size_t bytes, Location at = Location::here());
void device_free(void* pointer);

struct DeviceHeap {
  Location at;
};
constexpr DeviceHeap device_heap(Location at = Location::here()) { return {at}; }
// As on a GPU null if there is no room; on the host as ever.
void* device_new(size_t bytes, size_t alignment, DeviceHeap heap);

// Copies of so many bytes are compiled into one load and one store, which are seen anyway.
constexpr bool is_one_access(size_t bytes) {
  return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
}

#if SIMT_INSTRUMENTED
void note_range(const void* address, size_t bytes, bool writes, const void* pc);
#define SIMT_NOTE_RANGE(address, bytes, writes) \
  ::simt::note_range(address, bytes, writes, __builtin_return_address(0))

SIMT_INLINE void* watched_memcpy(void* to, const void* from, size_t bytes) {
  SIMT_NOTE_RANGE(from, bytes, false);
  SIMT_NOTE_RANGE(to, bytes, true);
  return __builtin_memcpy(to, from, bytes);
}
SIMT_INLINE void* watched_memmove(void* to, const void* from, size_t bytes) {
  SIMT_NOTE_RANGE(from, bytes, false);
  SIMT_NOTE_RANGE(to, bytes, true);
  return __builtin_memmove(to, from, bytes);
}
SIMT_INLINE void* watched_memset(void* to, int value, size_t bytes) {
  SIMT_NOTE_RANGE(to, bytes, true);
  return __builtin_memset(to, value, bytes);
}
#undef SIMT_NOTE_RANGE
#endif

}  // namespace simt

inline void* operator new(size_t bytes, simt::DeviceHeap heap) noexcept(true) {
  return simt::device_new(bytes, 16, heap);
}
inline void* operator new[](size_t bytes, simt::DeviceHeap heap) noexcept(true) {
  return simt::device_new(bytes, 16, heap);
}
inline void* operator new(size_t bytes, std::align_val_t alignment,
                          simt::DeviceHeap heap) noexcept(true) {
  return simt::device_new(bytes, static_cast<size_t>(alignment), heap);
}
inline void* operator new[](size_t bytes, std::align_val_t alignment,
                            simt::DeviceHeap heap) noexcept(true) {
  return simt::device_new(bytes, static_cast<size_t>(alignment), heap);
}
