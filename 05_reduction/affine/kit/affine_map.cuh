// An affine map modulo 2^32, and doing one after the other.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace affine {

struct AffineMap {  // v -> a v + b
  std::uint32_t a, b;
};

__host__ __device__ inline AffineMap identity_map() { return {1, 0}; }

// `first`, and then `second`: second(first(v)).
__host__ __device__ inline AffineMap then(AffineMap first, AffineMap second) {
  return {second.a * first.a, second.a * first.b + second.b};
}

}  // namespace affine
