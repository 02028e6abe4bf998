// Problem D3: a chain of many small kernels, each of which takes less time than its launch.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "06_atomics_streams/pipeline/batch.cuh"
#include "common/compare.hpp"
#include "common/cuda_check.cuh"
#include "common/guarded_array.cuh"
#include "common/host_buffer.hpp"
#include "common/random.cuh"
#include "common/report.hpp"

struct SmallKernels {
  static constexpr const char* name = "small_kernels";
  static constexpr int kElements = 1024;

  int kernels;
  common::GuardedArray<unsigned> x;
  common::HostBuffer<unsigned> expected;

  SmallKernels(int kernels, std::uint64_t seed)
      : kernels(kernels), x("x", common::Role::in_out, kElements), expected(kElements) {
    for (int i = 0; i < kElements; ++i) {
      x.pristine()[i] = static_cast<unsigned>(common::random_bits(seed, i) >> 32);
      expected[i] = x.pristine()[i];
      for (int k = 0; k < kernels; ++k) expected[i] = xorshift(expected[i]);
    }
  }

  template <class Visit>
  void each_array(Visit visit) {
    visit(x);
  }

  // A kernel left out, run twice or out of order would show: every one takes the state one on.
  common::Comparison check() const {
    return common::compare(x.fetched(), expected.data(), kElements, 0.0);
  }

  common::Sizes sizes() const { return {{"kernels", kernels}, {"n", kElements}}; }
  double bytes() const { return 0; }
  double flops() const { return 0; }
};
