// The problem of this chapter: y = x + y for n floats, with what it takes to check a solution.
#pragma once

#include <cuda_runtime.h>
#include <cstdint>

#include "common/bench/compare.hpp"
#include "common/bench/guarded_array.cuh"
#include "common/bench/memory_need.hpp"
#include "common/bench/report.hpp"
#include "common/kit/host_buffer.hpp"
#include "common/kit/random.cuh"

namespace vector_add {

struct VectorAdd {
  static constexpr const char* name = "vector_add";

  std::int64_t n;
  std::uint64_t x_seed, y_seed;
  bench::GuardedArray<float> x, y;
  kit::HostBuffer<float> expected;

  VectorAdd(std::int64_t n, std::uint64_t seed)
      : n(n),
        x_seed(2 * seed),
        y_seed(2 * seed + 1),
        x("x", bench::Role::input, n),
        y("y", bench::Role::in_out, n),
        expected(n) {
    kit::fill_random(x.pristine(), n, x_seed);
    kit::fill_random(y.pristine(), n, y_seed);
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < n; ++i) expected[i] = x.pristine()[i] + y.pristine()[i];
  }

  template <class Visit>
  void each_array(Visit visit) {
    visit(x);
    visit(y);
  }

  // IEEE 754 rounds one addition in one way only: every variant must hit the same bits.
  bench::Comparison check() const { return bench::compare(y.fetched(), expected.data(), n, 0.0); }

  bench::Sizes sizes() const { return {{"n", n}}; }
  double bytes() const { return 3.0 * sizeof(float) * static_cast<double>(n); }
  double flops() const { return static_cast<double>(n); }

  // What a run takes, for the check before anything is allocated. On the device a round trip has
  // its own x and y beside those of the problem; on the host there are pristine and working copies,
  // the reference, STREAM's third array, and the pinned or managed copies.
  static bench::MemoryNeed memory(std::int64_t n) {
    const double floats = sizeof(float) * static_cast<double>(n);
    return {8 * floats, 4 * floats};
  }
};

// Most rungs are functions of (x, y, n), or (x, y, n, stream): these hand them their arguments.
template <class Add>
auto with_host_arrays(Add add) {
  return [add](VectorAdd& p) { return add(p.x.host_data(), p.y.host_data(), p.n); };
}
template <class Add>
auto with_device_arrays(Add add) {
  return [add](VectorAdd& p, cudaStream_t stream) {
    add(p.x.device_data(), p.y.device_data(), p.n, stream);
  };
}

}  // namespace vector_add
