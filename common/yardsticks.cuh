// Yardsticks that several chapters hold their kernels against.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "common/compare.hpp"
#include "common/cuda_check.cuh"
#include "common/guarded_array.cuh"
#include "common/variant.cuh"

namespace common {

// The device's own copy from one array of the problem to another (in its first elements, if one is
// larger), counted as it must be: every byte is read once and written once.
//   device_copy(&VectorAdd::x, &VectorAdd::y)
template <class Problem, class T>
Variant<Problem> device_copy(GuardedArray<T> Problem::*from, GuardedArray<T> Problem::*to) {
  const auto count = [from, to](const Problem& p) {
    return std::min((p.*from).size(), (p.*to).size());
  };
  Variant<Problem> copy = on_device<Problem>(
      "device_copy", "yardstick: cudaMemcpyDeviceToDevice",
      [from, to, count](Problem& p, cudaStream_t stream) {
        CUDA_CHECK(cudaMemcpyAsync((p.*to).on_device(), (p.*from).on_device(), count(p) * sizeof(T),
                                   cudaMemcpyDeviceToDevice, stream));
      });
  copy.kind = Kind::yardstick;
  copy.bytes = [count](const Problem& p) { return 2.0 * sizeof(T) * count(p); };
  copy.check = [from, to, count](const Problem& p) {
    return compare((p.*to).fetched(), (p.*from).pristine(), count(p), 0.0);
  };
  return copy;
}

}  // namespace common
