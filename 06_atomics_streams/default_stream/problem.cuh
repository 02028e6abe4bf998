// The problem: eight streams, each with one small, long kernel, and between them one tiny launch
// after the other in the default stream. Do the eight run side by side?
#pragma once

#include <cstdint>

#include "06_atomics_streams/default_stream/kit/eight_streams.cuh"
#include "06_atomics_streams/kit/xorshift.cuh"
#include "common/bench/compare.hpp"
#include "common/bench/guarded_array.cuh"
#include "common/bench/report.hpp"
#include "common/kit/host_buffer.hpp"

namespace default_stream {

struct DefaultStream {
  static constexpr const char* name = "default_stream";

  int rounds;
  // kWidth numbers of each stream, then one of each tiny kernel.
  bench::GuardedArray<unsigned> y;
  kit::HostBuffer<unsigned> expected;

  explicit DefaultStream(int rounds)
      : rounds(rounds),
        y("y", bench::Role::output, kEightStreams * (kWidth + 1)),
        expected(kEightStreams * (kWidth + 1)) {
    for (std::int64_t i = 0; i < expected.size(); ++i) {
      unsigned v = static_cast<unsigned>(i) + 1;  // xorshift never leaves 0
      const int steps = i < kEightStreams * kWidth ? rounds : 1;
      for (int r = 0; r < steps; ++r) v = atomics_streams::xorshift(v);
      expected[i] = v;
    }
  }

  template <class Visit>
  void each_array(Visit visit) {
    visit(y);
  }

  bench::Comparison check() const {
    return bench::compare(y.fetched(), expected.data(), expected.size(), 0.0);
  }

  bench::Sizes sizes() const { return {{"streams", kEightStreams}, {"rounds", rounds}}; }
  double bytes() const { return 0; }
  double flops() const { return 0; }
};

}  // namespace default_stream
