// Shared memory. The front end turns
//
//   __shared__ float tile[16][17];
//
// into a reference to the variable's place in the shared memory of the running block:
//
//   float (&tile)[16][17] = simt::shared_variable<tag, float[16][17]>();
//
// `tag` is a type of its own for every variable (and every instance of a kernel template); it
// carries the variable's name and its __align__.
#pragma once

#include <cstddef>
#include <type_traits>
#include <typeinfo>

#include "simt/build_mode.h"
#include "simt/layout.h"
#include "simt/state.h"

namespace simt {

bool in_device_range(const void* address);  // memory.cpp

// Of an array, how many bytes lie between neighbours, for each index; behind them zeros.
struct Strides {
  size_t bytes[4];
};
template <class T>
constexpr Strides strides_of() {
  Strides strides{};
  if constexpr (std::is_array_v<T>) {
    using Inner = std::remove_extent_t<T>;
    strides.bytes[0] = sizeof(Inner);
    for (int i = 0; i < 3; ++i) strides.bytes[i + 1] = strides_of<Inner>().bytes[i];
  }
  return strides;
}

// One __shared__ variable of the program, registered before main().
struct SharedVariable {
  SharedVariable(const char* owner, const char* name, size_t bytes, size_t alignment,
                 Layout element, const Strides& strides);

  const char* owner;  // mangled name of the tag: says in which kernel it was declared
  const char* name;
  size_t bytes;
  size_t alignment;
  Layout element;  // the type of its elements
  Strides strides;
  int number;  // 0, 1, 2, ... in the whole program
};

// Gives the variable its place in the running kernel; returns its offset.
int place_shared_variable(const SharedVariable& variable);

constexpr size_t kStaticSharedBytes = 48 * 1024;

template <class Tag, class T>
struct SharedVariableOf {
  static_assert(sizeof(T) <= kStaticSharedBytes,
                "uses too much shared data: __shared__ variables have 48 KiB (0xc000 bytes), "
                "dynamic shared memory may have more");
  static inline const SharedVariable variable{
      typeid(Tag).name(), Tag::name(),
      sizeof(T),          alignof(Tag) > alignof(T) ? alignof(Tag) : alignof(T),
      layout_of<T>(),     strides_of<T>()};
};

template <class Tag, class T>
SIMT_INLINE T& shared_variable() {
  const SharedVariable& variable = SharedVariableOf<Tag, T>::variable;
  int offset = state.shared_offsets[variable.number];
  if (offset < 0) offset = place_shared_variable(variable);
  return *reinterpret_cast<T*>(state.shared + offset);
}

// `extern __shared__ T x[]`: behind the 48 KiB of the static variables.
SIMT_INLINE void* dynamic_shared() { return state.shared + kStaticSharedBytes; }

// A pointer to shared memory as the number that PTX instructions take: its offset in the block's
// shared memory.
SIMT_INLINE size_t shared_offset(const void* pointer) {
  return static_cast<size_t>(static_cast<const char*>(pointer) - state.shared);
}

// A __device__, __constant__ or __managed__ variable, registered by the front end so that addresses
// can be recognised and named. They live among the program's own variables.
struct Symbol {
  // kFixed: `const`, so the host may read it, too. kGuard: bytes that belong to none of them.
  enum class Space : unsigned char { kDevice, kConstant, kManaged, kFixed, kGuard };
  template <class T>
  Symbol(T& variable, const char* name, Space space = Space::kDevice)
      : Symbol(const_cast<const void*>(static_cast<const volatile void*>(&variable)), sizeof(T),
               name, std::is_const_v<T> ? Space::kFixed : space) {}
  Symbol(const void* address, size_t bytes, const char* name, Space space = Space::kDevice);
};

// A variable that is static in a function of device code: registered once, when a kernel comes by.
void know_static(const void* address, size_t bytes, const char* name);
template <class T>
SIMT_INLINE void know_static(T& variable, const char* name) {
  know_static(const_cast<const void*>(static_cast<const volatile void*>(&variable)), sizeof(T),
              name);
}

}  // namespace simt

SIMT_INLINE size_t __cvta_generic_to_shared(const void* pointer) {
  return simt::shared_offset(pointer);
}
SIMT_INLINE void* __cvta_shared_to_generic(size_t offset) { return simt::state.shared + offset; }
SIMT_INLINE size_t __cvta_generic_to_global(const void* pointer) {
  return reinterpret_cast<size_t>(pointer);
}
SIMT_INLINE void* __cvta_global_to_generic(size_t address) {
  return reinterpret_cast<void*>(address);
}
SIMT_INLINE size_t __cvta_generic_to_constant(const void* pointer) {
  return reinterpret_cast<size_t>(pointer);
}
SIMT_INLINE size_t __cvta_generic_to_local(const void* pointer) {
  return reinterpret_cast<size_t>(pointer);
}

// Which memory a pointer leads to.
SIMT_INLINE unsigned __isShared(const void* pointer) {
  return simt::state.shared && simt::shared_offset(pointer) < (48 + 228) * 1024;
}
SIMT_INLINE unsigned __isGlobal(const void* pointer) { return simt::in_device_range(pointer); }
