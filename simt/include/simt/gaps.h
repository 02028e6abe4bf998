// Structures with gaps. g++ copies one whole, gaps and all, in a single move; nvcc copies it member
// by member, and no wide load or store reaches across a gap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "simt/build_mode.h"

namespace simt {

struct Gapped {
  size_t bytes = 0;      // of one object; 0: no gaps, or nothing is known
  uint64_t members = 0;  // bit i: byte i belongs to a member
};

template <class T, class = void>
struct GapsOf {
  static Gapped get() { return {}; }
};

#if SIMT_INSTRUMENTED && defined(__has_builtin)
#if __has_builtin(__builtin_clear_padding)
// Of complete types alone: a kernel may take a pointer to a type that is only declared.
template <class T>
struct GapsOf<T, std::enable_if_t<(sizeof(T) > 0)>> {
  static Gapped get() {
    Gapped gapped;
    if constexpr (std::is_class_v<T> && std::is_trivially_copyable_v<T> && sizeof(T) <= 64) {
      alignas(T) unsigned char bytes[sizeof(T)];
      std::memset(bytes, 0xff, sizeof bytes);
      __builtin_clear_padding(reinterpret_cast<T*>(bytes));
      for (size_t i = 0; i < sizeof bytes; ++i) {
        gapped.members |= uint64_t{bytes[i] != 0} << i;
        if (bytes[i] == 0) gapped.bytes = sizeof bytes;
      }
    }
    return gapped;
  }
};
#endif
#endif

template <class T>
Gapped gaps_of() {
  return GapsOf<std::remove_cv_t<std::remove_all_extents_t<T>>>::get();
}

}  // namespace simt
