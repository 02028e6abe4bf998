// Problem C1: the largest of n floats, in one cell. There is no atomicMax for floats.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "common/compare.hpp"
#include "common/cuda_check.cuh"
#include "common/guarded_array.cuh"
#include "common/random.cuh"
#include "common/report.hpp"

struct FloatMax {
  static constexpr const char* name = "float_max";
  static constexpr float kLowest = -std::numeric_limits<float>::infinity();  // the identity

  std::int64_t n;
  common::GuardedArray<float> x;
  common::GuardedArray<float> largest;  // one cell
  float expected = kLowest;

  // Values lie in [-1 - shift, 1 - shift): with shift = 2 all are negative, as floats often are
  // that somebody takes the maximum of.
  FloatMax(std::int64_t n, std::uint64_t seed, float shift = 0)
      : n(n), x("x", common::Role::input, n), largest("largest", common::Role::output, 1) {
    float most = expected;
#pragma omp parallel for schedule(static) reduction(max : most)
    for (std::int64_t i = 0; i < n; ++i) {
      x.pristine()[i] = common::random_float(seed, i) - shift;
      most = std::max(most, x.pristine()[i]);
    }
    expected = most;
  }

  template <class Visit>
  void each_array(Visit visit) {
    visit(x);
    visit(largest);
  }

  // The maximum is one of the inputs, in any order: the bound is 0.
  common::Comparison check() const { return common::compare(largest.fetched(), &expected, 1, 0.0); }

  common::Sizes sizes() const { return {{"n", n}}; }
  double bytes() const { return sizeof(float) * static_cast<double>(n); }
  double flops() const { return 0; }

  static double host_bytes(std::int64_t n) { return 2.0 * sizeof(float) * static_cast<double>(n); }
  static double device_bytes(std::int64_t n) { return sizeof(float) * static_cast<double>(n); }
};

__global__ void float_max_start_kernel(float* largest) { *largest = FloatMax::kLowest; }

// *largest = the identity of the maximum. A launch of its own, before any block may add to it.
inline void float_max_start(float* largest, cudaStream_t stream) {
  float_max_start_kernel<<<1, 1, 0, stream>>>(largest);
  CUDA_CHECK(cudaGetLastError());
}
