// The problem: a chain of many small kernels, each of which takes less time than its launch.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "06_atomics_streams/kit/xorshift.cuh"
#include "common/bench/compare.hpp"
#include "common/bench/guarded_array.cuh"
#include "common/bench/report.hpp"
#include "common/kit/check.cuh"
#include "common/kit/host_buffer.hpp"
#include "common/kit/random.cuh"

namespace small_kernels {

struct SmallKernels {
  static constexpr const char* name = "small_kernels";
  static constexpr int kElements = 1024;

  int kernels;
  bench::GuardedArray<unsigned> x;
  kit::HostBuffer<unsigned> expected;

  SmallKernels(int kernels, std::uint64_t seed)
      : kernels(kernels), x("x", bench::Role::in_out, kElements), expected(kElements) {
    for (int i = 0; i < kElements; ++i) {
      x.pristine()[i] = static_cast<unsigned>(kit::random_bits(seed, i) >> 32);
      expected[i] = x.pristine()[i];
      for (int k = 0; k < kernels; ++k) expected[i] = atomics_streams::xorshift(expected[i]);
    }
  }

  template <class Visit>
  void each_array(Visit visit) {
    visit(x);
  }

  // A kernel left out, run twice or out of order would show: every one takes the state one on.
  bench::Comparison check() const {
    return bench::compare(x.fetched(), expected.data(), kElements, 0.0);
  }

  bench::Sizes sizes() const { return {{"kernels", kernels}, {"n", kElements}}; }
  double bytes() const { return 0; }
  double flops() const { return 0; }
};

}  // namespace small_kernels
