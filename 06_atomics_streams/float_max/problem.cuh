// The problem: the largest of n floats, in one cell. There is no atomicMax for floats.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "06_atomics_streams/float_max/kit/start.cuh"
#include "common/bench/compare.hpp"
#include "common/bench/guarded_array.cuh"
#include "common/bench/memory_need.hpp"
#include "common/bench/report.hpp"
#include "common/bench/variant.cuh"
#include "common/kit/random.cuh"

namespace float_max {

struct FloatMax {
  static constexpr const char* name = "float_max";

  std::int64_t n;
  bench::GuardedArray<float> x;
  bench::GuardedArray<float> largest;  // one cell
  float expected = kLowest;

  // Values lie in [-1 - shift, 1 - shift): with shift = 2 all are negative, as floats often are
  // that somebody takes the maximum of.
  FloatMax(std::int64_t n, std::uint64_t seed, float shift = 0)
      : n(n), x("x", bench::Role::input, n), largest("largest", bench::Role::output, 1) {
    float most = expected;
#pragma omp parallel for schedule(static) reduction(max : most)
    for (std::int64_t i = 0; i < n; ++i) {
      x.pristine()[i] = kit::random_float(seed, i) - shift;
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
  bench::Comparison check() const { return bench::compare(largest.fetched(), &expected, 1, 0.0); }

  bench::Sizes sizes() const { return {{"n", n}}; }
  double bytes() const { return sizeof(float) * static_cast<double>(n); }
  double flops() const { return 0; }

  static bench::MemoryNeed memory(std::int64_t n) {
    return {2.0 * sizeof(float) * static_cast<double>(n), sizeof(float) * static_cast<double>(n)};
  }
};

// A rung on the device.
inline bench::Variant<FloatMax> float_max_rung(const std::string& name, const std::string& idea,
                                               void (*launch)(const float*, std::int64_t, float*,
                                                              cudaStream_t)) {
  return bench::device_variant<FloatMax>(name, idea, [launch](FloatMax& p, cudaStream_t stream) {
    launch(p.x.device_data(), p.n, p.largest.device_data(), stream);
  });
}

}  // namespace float_max
