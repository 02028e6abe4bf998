// The problem: how often each of the 256 byte values occurs among n bytes.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "06_atomics_streams/histogram/kit/bins.hpp"
#include "common/bench/compare.hpp"
#include "common/bench/guarded_array.cuh"
#include "common/bench/memory_need.hpp"
#include "common/bench/report.hpp"
#include "common/bench/variant.cuh"
#include "common/kit/host_buffer.hpp"
#include "common/kit/random.cuh"

namespace histogram {

// In the order of --input.
enum class HistogramInput {
  uniform,   // every value equally likely
  skewed,    // half of all bytes are 0, larger values ever rarer
  constant,  // one value only
};

struct Histogram {
  static constexpr const char* name = "histogram";

  std::int64_t n;
  bench::GuardedArray<unsigned char> x;
  bench::GuardedArray<unsigned> counts;
  kit::HostBuffer<unsigned> expected;

  // n < 2^32, so that a count cannot overflow. Values are below `distinct`.
  Histogram(std::int64_t n, std::uint64_t seed, HistogramInput input, int distinct = kBins)
      : n(n),
        x("x", bench::Role::input, n),
        counts("counts", bench::Role::output, kBins),
        expected(kBins) {
    unsigned* bins = expected.data();
    std::fill(bins, bins + kBins, 0u);
#pragma omp parallel for schedule(static) reduction(+ : bins[:kBins])
    for (std::int64_t i = 0; i < n; ++i) {
      x.pristine()[i] = value(input, distinct, kit::random_bits(seed, i));
      ++bins[x.pristine()[i]];
    }
  }

  template <class Visit>
  void each_array(Visit visit) {
    visit(x);
    visit(counts);
  }

  // Counting is exact: the bound is 0.
  bench::Comparison check() const {
    return bench::compare(counts.fetched(), expected.data(), kBins, 0.0);
  }

  bench::Sizes sizes() const { return {{"n", n}}; }
  double bytes() const { return static_cast<double>(n); }
  double flops() const { return 0; }

  static bench::MemoryNeed memory(std::int64_t n) {
    return {2.0 * static_cast<double>(n), 1.0 * static_cast<double>(n)};
  }

 private:
  static unsigned char value(HistogramInput input, int distinct, std::uint64_t bits) {
    switch (input) {
      case HistogramInput::uniform:
        return static_cast<unsigned char>((bits >> 32) * distinct >> 32);
      case HistogramInput::skewed: {
        // u^8 for u uniform in [0, 1): below 1/256 with probability 256^(-1/8) = 1/2.
        double u = static_cast<double>(bits >> 11) * 0x1p-53;
        u *= u, u *= u, u *= u;
        return static_cast<unsigned char>(u * distinct);
      }
      case HistogramInput::constant: break;
    }
    return static_cast<unsigned char>(42 % distinct);
  }
};

// A rung on the device.
inline bench::Variant<Histogram> histogram_rung(const std::string& name, const std::string& idea,
                                                void (*launch)(const unsigned char*, std::int64_t,
                                                               unsigned*, cudaStream_t)) {
  return bench::device_variant<Histogram>(name, idea, [launch](Histogram& p, cudaStream_t stream) {
    launch(p.x.device_data(), p.n, p.counts.device_data(), stream);
  });
}

}  // namespace histogram
