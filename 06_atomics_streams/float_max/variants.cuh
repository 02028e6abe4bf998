// The index of problem C1: every way to find the largest float, in reading order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "06_atomics_streams/float_max/01_sequential.hpp"
#include "06_atomics_streams/float_max/02_compare_and_swap.cuh"
#include "06_atomics_streams/float_max/03_ordered_bits.cuh"
#include "06_atomics_streams/float_max/04_aggregated.cuh"
#include "06_atomics_streams/float_max/problem.cuh"
#include "common/variant.cuh"

inline common::Variant<FloatMax> float_max_rung(const std::string& name, const std::string& idea,
                                                void (*launch)(const float*, std::int64_t, float*,
                                                               cudaStream_t)) {
  return common::on_device<FloatMax>(name, idea, [launch](FloatMax& p, cudaStream_t stream) {
    launch(p.x.on_device(), p.n, p.largest.on_device(), stream);
  });
}

inline std::vector<common::Variant<FloatMax>> float_max_variants() {
  return {
      common::on_cpu<FloatMax>(
          "sequential", "keep the largest so far",
          [](FloatMax& p) { *p.largest.on_host() = float_max_sequential(p.x.on_host(), p.n); }),
      float_max_rung("compare_and_swap", "look, compute, try, again", float_max_compare_and_swap),
      float_max_rung("ordered_bits", "integer max and min on the bits", float_max_ordered_bits),
      float_max_rung("aggregated", "registers and shuffles first", float_max_aggregated),
  };
}
