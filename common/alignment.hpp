// Whether 16-byte accesses may begin at a pointer: float4, cp.async, the copy engine.
#pragma once

#include <cstdint>

namespace common {

inline bool is_aligned_to_16(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0;
}

}  // namespace common
