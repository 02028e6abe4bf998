// Where 16-byte accesses may begin: float4, cp.async, TMA.
#pragma once

#include <cstdint>

#include "common/kit/skip.hpp"

namespace kit {

inline bool is_aligned_to_16(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0;
}

// Whether they may begin at every row of a matrix whose rows have `cols` elements.
template <class T>
bool has_vector_rows(const T* x, std::int64_t cols) {
  return is_aligned_to_16(x) && cols * static_cast<std::int64_t>(sizeof(T)) % 16 == 0;
}

// For a rung that has no other way: throws Skip if one of the pointers is not aligned.
template <class... Pointers>
void require_aligned_to_16(const Pointers*... pointers) {
  if (!(is_aligned_to_16(pointers) && ...)) throw Skip("needs 16-byte aligned pointers");
}

}  // namespace kit
