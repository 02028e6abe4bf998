// Dynamic shared memory as one struct that begins at a multiple of 1024 bytes, as tiles must that
// TMA swizzles by 128 bytes. The declaration of an extern array may ask for that and not get it.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace kit {

constexpr int kSwizzleAlignment = 1024;

// What a launch has to ask for.
template <class Shared>
constexpr int aligned_shared_bytes() {
  return static_cast<int>(sizeof(Shared)) + kSwizzleAlignment;
}

// begin: of the dynamic shared memory.
template <class Shared>
__device__ __forceinline__ Shared& aligned_shared(unsigned char* begin) {
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  return *reinterpret_cast<Shared*>((address + kSwizzleAlignment - 1) &
                                    ~(kSwizzleAlignment - 1ull));
}

}  // namespace kit
