// Whether 16-byte accesses may begin at a pointer: float4, cp.async, TMA.
#pragma once

#include <cstdint>

#include "common/kit/skip.hpp"

namespace kit {

inline bool is_aligned_to_16(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0;
}

// For a rung that has no other way: throws Skip if one of the pointers is not aligned.
template <class... Pointers>
void require_aligned_to_16(const Pointers*... pointers) {
  if (!(is_aligned_to_16(pointers) && ...)) throw Skip("needs 16-byte aligned pointers");
}

}  // namespace kit
