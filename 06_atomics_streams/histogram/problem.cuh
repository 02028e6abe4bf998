// Problem B: how often each of the 256 byte values occurs among n bytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "common/compare.hpp"
#include "common/guarded_array.cuh"
#include "common/host_buffer.hpp"
#include "common/random.cuh"
#include "common/report.hpp"

constexpr int kBins = 256;

enum class HistogramInput {
  uniform,   // every value equally likely
  skewed,    // half of all bytes are 0, larger values ever rarer
  constant,  // one value only
};

inline HistogramInput histogram_input(const std::string& name) {
  if (name == "skewed") return HistogramInput::skewed;
  return name == "constant" ? HistogramInput::constant : HistogramInput::uniform;
}

struct Histogram {
  static constexpr const char* name = "histogram";

  std::int64_t n;
  common::GuardedArray<unsigned char> x;
  common::GuardedArray<unsigned> counts;
  common::HostBuffer<unsigned> expected;

  // n < 2^32, so that a count cannot overflow. Values are below `distinct`.
  Histogram(std::int64_t n, std::uint64_t seed, HistogramInput input, int distinct = kBins)
      : n(n),
        x("x", common::Role::input, n),
        counts("counts", common::Role::output, kBins),
        expected(kBins) {
    unsigned* bins = expected.data();
    std::fill(bins, bins + kBins, 0u);
#pragma omp parallel for schedule(static) reduction(+ : bins[:kBins])
    for (std::int64_t i = 0; i < n; ++i) {
      x.pristine()[i] = value(input, distinct, common::random_bits(seed, i));
      ++bins[x.pristine()[i]];
    }
  }

  template <class Visit>
  void each_array(Visit visit) {
    visit(x);
    visit(counts);
  }

  // Counting is exact: the bound is 0.
  common::Comparison check() const {
    return common::compare(counts.fetched(), expected.data(), kBins, 0.0);
  }

  common::Sizes sizes() const { return {{"n", n}}; }
  double bytes() const { return static_cast<double>(n); }
  double flops() const { return 0; }

  static double host_bytes(std::int64_t n) { return 2.0 * static_cast<double>(n); }
  static double device_bytes(std::int64_t n) { return 1.0 * static_cast<double>(n); }

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
