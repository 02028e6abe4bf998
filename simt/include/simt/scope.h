// cuda::thread_scope, and how libcu++'s synchronization types wait here.
#pragma once

#include "simt/cuda.h"

namespace cuda {

enum thread_scope {
  thread_scope_system,
  thread_scope_device,
  thread_scope_block,
  thread_scope_thread
};

namespace detail {

constexpr simt::Scope scope_of(thread_scope scope) {
  return scope == thread_scope_system   ? simt::Scope::kSystem
         : scope == thread_scope_device ? simt::Scope::kDevice
                                        : simt::Scope::kBlock;
}

}  // namespace detail

template <size_t Alignment>
struct aligned_size_t {
  static constexpr size_t align = Alignment;
  size_t value;
  explicit constexpr aligned_size_t(size_t size) : value(size) {}
  constexpr operator size_t() const { return value; }
};

namespace detail {

// Waits for other threads: each look is followed by their turn.
template <class Condition>
SIMT_INLINE void wait_until(Condition condition) {
  while (!condition()) simt::give_way();
}

}  // namespace detail
}  // namespace cuda
