// How a structure lies in memory. g++ may move one whole, gaps and all, wherever it lies. nvcc
// moves it member by member, with no load or store across a gap, and through a pointer none is
// wider than the alignment of the type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "simt/build_mode.h"

namespace simt {

struct Layout {
  size_t bytes = 0;  // of one object; 0: no structure, or nothing is known
  size_t alignment = 0;
  uint64_t members = 0;  // bit i: byte i belongs to a member
  bool gaps = false;

  bool in_pieces() const { return gaps || alignment < (bytes < 16 ? bytes : 16); }
};

template <class T, class = void>
struct LayoutOf {
  static Layout get() { return {}; }
};

#if SIMT_INSTRUMENTED && defined(__has_builtin)
#if __has_builtin(__builtin_clear_padding)
// Of complete types alone: a kernel may take a pointer to a type that is only declared.
template <class T>
struct LayoutOf<T, std::enable_if_t<(sizeof(T) > 0)>> {
  static Layout get() {
    Layout layout;
    if constexpr (std::is_class_v<T> && std::is_trivially_copyable_v<T> && sizeof(T) <= 64) {
      alignas(T) unsigned char bytes[sizeof(T)];
      std::memset(bytes, 0xff, sizeof bytes);
      __builtin_clear_padding(reinterpret_cast<T*>(bytes));
      layout.bytes = sizeof bytes;
      layout.alignment = alignof(T);
      for (size_t i = 0; i < sizeof bytes; ++i) {
        layout.members |= uint64_t{bytes[i] != 0} << i;
        layout.gaps |= bytes[i] == 0;
      }
    }
    return layout;
  }
};
#endif
#endif

template <class T>
Layout layout_of() {
  return LayoutOf<std::remove_cv_t<std::remove_all_extents_t<T>>>::get();
}

}  // namespace simt
