// What simt's front end puts in front of a value that is about to be stored, in a build with
// checks: `a[i] = f(x)` becomes `a[i] = (simt::temporary(), f(x))`.
//
// g++ reports every store but that of a call, so what a function returns as a structure would go
// into memory unseen. Taken by reference it must go into a temporary first, and the copy from there
// is a store of the line that says so. For all that is not the result of such a call the comma
// below does not apply, and it is C++'s own: the value stays what it was, a bit-field or a class
// that cannot be moved, too.
#pragma once

#include <type_traits>

namespace simt {

struct Temporary {};
constexpr inline __attribute__((always_inline)) Temporary temporary() { return {}; }

template <class T>
constexpr bool kReturnedUnseen =
    (std::is_class_v<T> || std::is_union_v<T>)&&std::is_trivially_move_constructible_v<
        T>&& std::is_trivially_destructible_v<T>;

// T is deduced as a reference for what is no temporary.
template <class T, class = std::enable_if_t<kReturnedUnseen<T>>>
constexpr inline __attribute__((always_inline)) T&& operator,(Temporary, T&& value) {
  return static_cast<T&&>(value);
}

}  // namespace simt
