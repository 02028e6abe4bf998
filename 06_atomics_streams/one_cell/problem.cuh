// The problem: the sum of n 16-bit samples, added up in one 64-bit cell that every thread wants.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#include "common/bench/compare.hpp"
#include "common/bench/guarded_array.cuh"
#include "common/bench/memory_need.hpp"
#include "common/bench/report.hpp"
#include "common/bench/variant.cuh"
#include "common/kit/random.cuh"

namespace one_cell {

struct OneCell {
  static constexpr const char* name = "one_cell";
  using Sample = std::uint16_t;
  using Total = unsigned long long;  // the 64-bit type that atomicAdd takes

  std::int64_t n;
  bench::GuardedArray<Sample> x;
  bench::GuardedArray<Total> total;  // one cell
  Total expected = 0;

  OneCell(std::int64_t n, std::uint64_t seed)
      : n(n), x("x", bench::Role::input, n), total("total", bench::Role::output, 1) {
    Total sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
    for (std::int64_t i = 0; i < n; ++i) {
      x.pristine()[i] = static_cast<Sample>(kit::random_bits(seed, i) >> 48);
      sum += x.pristine()[i];
    }
    expected = sum;
  }

  template <class Visit>
  void each_array(Visit visit) {
    visit(x);
    visit(total);
  }

  // Integers add up to the same total in any order: the bound is 0. A double holds it exactly as
  // long as n is below 2^37.
  bench::Comparison check() const { return bench::compare(total.fetched(), &expected, 1, 0.0); }

  bench::Sizes sizes() const { return {{"n", n}}; }
  double bytes() const { return sizeof(Sample) * static_cast<double>(n); }
  double flops() const { return 0; }

  static bench::MemoryNeed memory(std::int64_t n) {
    return {2.0 * sizeof(Sample) * static_cast<double>(n), sizeof(Sample) * static_cast<double>(n)};
  }
};

// A rung on the device.
inline bench::Variant<OneCell> one_cell_rung(const std::string& name, const std::string& idea,
                                             void (*launch)(const std::uint16_t*, std::int64_t,
                                                            unsigned long long*, cudaStream_t)) {
  return bench::device_variant<OneCell>(name, idea, [launch](OneCell& p, cudaStream_t stream) {
    launch(p.x.device_data(), p.n, p.total.device_data(), stream);
  });
}

}  // namespace one_cell
