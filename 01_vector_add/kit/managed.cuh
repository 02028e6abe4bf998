// How much managed memory a rung may ask for.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/kit/check.cuh"

namespace vector_add {

// A program that asks for more managed memory than the device has free can bring the device to a
// standstill, so the lesson stays small.
constexpr std::int64_t kMostManagedBytes = std::int64_t{1} << 30;

inline void require_managed(std::size_t bytes) {
  if (2 * static_cast<std::int64_t>(bytes) > kMostManagedBytes) {
    throw kit::Skip("managed memory is kept to 1 GiB here: choose a smaller n");
  }
}

}  // namespace vector_add
