// Atomic functions, for all types and scopes. Blocks run on several cores, so these are real atomic
// operations on the CPU's memory: a compare-and-swap loop on the value's bits.
#pragma once

#include <cmath>
#include <cstring>
#include <type_traits>

#include "simt/build_mode.h"
#include "simt/math.h"
#include "simt/shared.h"
#include "simt/sync.h"
#include "simt/vector_types.h"

namespace simt {

template <size_t bytes>
struct BitsOf;
template <>
struct BitsOf<2> {
  using type = unsigned short;
};
template <>
struct BitsOf<4> {
  using type = unsigned int;
};
template <>
struct BitsOf<8> {
  using type = unsigned long long;
};

// *address = update(old), returns old.
template <class T, class Update>
SIMT_INLINE T atomic_update(T* address, Update update) {
  using Bits = typename BitsOf<sizeof(T)>::type;
  Bits* bits = reinterpret_cast<Bits*>(address);
  Bits seen = __atomic_load_n(bits, __ATOMIC_RELAXED);
  for (;;) {
    T old_value;
    memcpy(static_cast<void*>(&old_value), &seen, sizeof(T));
    T new_value = update(old_value);
    Bits wanted;
    memcpy(&wanted, static_cast<const void*>(&new_value), sizeof(T));
    if (__atomic_compare_exchange_n(bits, &seen, wanted, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED)) {
      poll();
      return old_value;
    }
  }
}

// The new value of an atomic sum. Of floats in global memory subnormal numbers are taken for zeros,
// and come out as zeros; a NaN is the one that GPUs make.
template <class T>
SIMT_INLINE T atomic_sum(const void* address, T old, T value) {
  if constexpr (std::is_same_v<T, float>) {
    const auto flushed = [&](float x) SIMT_UNWATCHED -> float {
      return std::fabs(x) < 0x1p-126f && !__isShared(address) ? std::copysign(0.0f, x) : x;
    };
    const float sum = flushed(flushed(old) + flushed(value));
    return sum == sum ? sum : bits_as<float>(0x7fffffffu);
  } else {
    return T(old + value);
  }
}

// The value's type comes from the pointer alone: atomicAdd(&float_value, 1) adds 1.0f.
template <class T>
struct Exactly {
  using type = T;
};

}  // namespace simt

#define SIMT_ATOMIC_SCOPED(name, scope, expression)                       \
  template <class T>                                                      \
  SIMT_INLINE T name(T* address, typename simt::Exactly<T>::type value) { \
    SIMT_NOTE_ATOMIC(atomic, address, sizeof(T), simt::Scope::scope);     \
    return simt::atomic_update(address, [&](T old) SIMT_UNWATCHED -> T {  \
      (void)old;                                                          \
      return expression;                                                  \
    });                                                                   \
  }
#define SIMT_ATOMIC(name, expression)                  \
  SIMT_ATOMIC_SCOPED(name, kDevice, expression)        \
  SIMT_ATOMIC_SCOPED(name##_block, kBlock, expression) \
  SIMT_ATOMIC_SCOPED(name##_system, kSystem, expression)

SIMT_ATOMIC(atomicAdd, simt::atomic_sum<T>(address, old, value))
SIMT_ATOMIC(atomicSub, T(old - value))
SIMT_ATOMIC(atomicMin, (value < old ? value : old))
SIMT_ATOMIC(atomicMax, (old < value ? value : old))
SIMT_ATOMIC(atomicAnd, T(old& value))
SIMT_ATOMIC(atomicOr, T(old | value))
SIMT_ATOMIC(atomicXor, T(old ^ value))
SIMT_ATOMIC(atomicExch, value)
SIMT_ATOMIC(atomicInc, (old >= value ? T(0) : T(old + 1)))
SIMT_ATOMIC(atomicDec, (old == 0 || old > value ? value : T(old - 1)))
#undef SIMT_ATOMIC
#undef SIMT_ATOMIC_SCOPED

// An exchange whose old value nobody takes, which the front end finds in a build with checks: it
// does not matter what stood there.
#define SIMT_OVERWRITE(name, scope)                                       \
  namespace simt {                                                        \
  template <class T>                                                      \
  SIMT_INLINE void name(T* address, typename Exactly<T>::type value) {    \
    SIMT_NOTE_ATOMIC(atomic_overwrite, address, sizeof(T), Scope::scope); \
    atomic_update(address, [&](T) SIMT_UNWATCHED -> T { return value; }); \
  }                                                                       \
  }
SIMT_OVERWRITE(overwrite, kDevice)
SIMT_OVERWRITE(overwrite_block, kBlock)
SIMT_OVERWRITE(overwrite_system, kSystem)
#undef SIMT_OVERWRITE

#define SIMT_ATOMIC_CAS(name, scope)                                                       \
  template <class T>                                                                       \
  SIMT_INLINE T name(T* address, typename simt::Exactly<T>::type compare,                  \
                     typename simt::Exactly<T>::type value) {                              \
    SIMT_NOTE_ATOMIC(atomic_cas, address, sizeof(T), simt::Scope::scope);                  \
    return simt::atomic_update(                                                            \
        address, [&](T old) SIMT_UNWATCHED -> T { return old == compare ? value : old; }); \
  }
SIMT_ATOMIC_CAS(atomicCAS, kDevice)
SIMT_ATOMIC_CAS(atomicCAS_block, kBlock)
SIMT_ATOMIC_CAS(atomicCAS_system, kSystem)
#undef SIMT_ATOMIC_CAS

// Vectors of floats in global memory (sm_90): each element is added by itself.
SIMT_INLINE float2 atomicAdd(float2* address, float2 value) {
  SIMT_NOTE_ATOMIC(atomic, address, sizeof(float2), simt::Scope::kDevice);
  const auto add = [](float* to, float more) SIMT_UNWATCHED {
    return simt::atomic_update(
        to, [&](float old) SIMT_UNWATCHED { return simt::atomic_sum(to, old, more); });
  };
  return {add(&address->x, value.x), add(&address->y, value.y)};
}
SIMT_INLINE float4 atomicAdd(float4* address, float4 value) {
  SIMT_NOTE_ATOMIC(atomic, address, sizeof(float4), simt::Scope::kDevice);
  const auto add = [](float* to, float more) SIMT_UNWATCHED {
    return simt::atomic_update(
        to, [&](float old) SIMT_UNWATCHED { return simt::atomic_sum(to, old, more); });
  };
  return {add(&address->x, value.x), add(&address->y, value.y), add(&address->z, value.z),
          add(&address->w, value.w)};
}
