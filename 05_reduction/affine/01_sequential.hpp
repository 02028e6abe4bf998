// sequential: the loop.
//
// One map after the other, in the order of the array. Each step is a multiplication and a
// multiply-add that wait for the step before. What is still wrong: one core works.
#pragma once

#include <cstdint>

#include "05_reduction/affine/kit/affine_map.cuh"

namespace affine {

// maps[0], then maps[1], ... then maps[n - 1]. Host pointer.
inline AffineMap affine_sequential(const AffineMap* maps, std::int64_t n) {
  AffineMap all = identity_map();
  for (std::int64_t i = 0; i < n; ++i) all = then(all, maps[i]);
  return all;
}

}  // namespace affine
