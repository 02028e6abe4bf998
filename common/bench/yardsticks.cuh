// Yardsticks that several chapters hold their kernels against.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "common/bench/compare.hpp"
#include "common/bench/guarded_array.cuh"
#include "common/bench/variant.cuh"
#include "common/kit/check.cuh"

namespace bench {

// The device's own copy from one array of the problem to another (in its first elements, if one is
// larger), counted as it must be: every byte is read once and written once.
//   device_copy(&VectorAdd::x, &VectorAdd::y)
template <class Problem, class T>
Variant<Problem> device_copy(GuardedArray<T> Problem::*from, GuardedArray<T> Problem::*to) {
  const auto count = [from, to](const Problem& p) {
    return std::min((p.*from).size(), (p.*to).size());
  };
  Variant<Problem> copy = device_variant<Problem>(
      "device_copy", "yardstick: cudaMemcpyDeviceToDevice",
      [from, to, count](Problem& p, cudaStream_t stream) {
        CUDA_CHECK(cudaMemcpyAsync((p.*to).device_data(), (p.*from).device_data(),
                                   count(p) * sizeof(T), cudaMemcpyDeviceToDevice, stream));
      });
  copy.kind = Kind::yardstick;
  copy.bytes = [count](const Problem& p) { return 2.0 * sizeof(T) * count(p); };
  copy.check = [from, to, count](const Problem& p) {
    return compare((p.*to).fetched(), (p.*from).pristine(), count(p), 0.0);
  };
  return copy;
}

}  // namespace bench
