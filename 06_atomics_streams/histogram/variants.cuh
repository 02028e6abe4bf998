// The index of problem B: every way to count bytes, in reading order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "06_atomics_streams/histogram/01_sequential.hpp"
#include "06_atomics_streams/histogram/02_openmp.hpp"
#include "06_atomics_streams/histogram/03_global_atomics.cuh"
#include "06_atomics_streams/histogram/04_shared_private.cuh"
#include "06_atomics_streams/histogram/05_vectorized.cuh"
#include "06_atomics_streams/histogram/06_lane_columns.cuh"
#include "06_atomics_streams/histogram/07_runs.cuh"
#include "06_atomics_streams/histogram/08_ahead.cuh"
#include "06_atomics_streams/histogram/peers.cuh"
#include "06_atomics_streams/histogram/problem.cuh"
#include "common/variant.cuh"

inline common::Variant<Histogram> histogram_rung(const std::string& name, const std::string& idea,
                                                 void (*launch)(const unsigned char*, std::int64_t,
                                                                unsigned*, cudaStream_t)) {
  return common::on_device<Histogram>(name, idea, [launch](Histogram& p, cudaStream_t stream) {
    launch(p.x.on_device(), p.n, p.counts.on_device(), stream);
  });
}

inline std::vector<common::Variant<Histogram>> histogram_variants() {
  return {
      common::on_cpu<Histogram>(
          "sequential", "read a byte, count it",
          [](Histogram& p) { histogram_sequential(p.x.on_host(), p.n, p.counts.on_host()); }),
      common::on_cpu<Histogram>(
          "openmp", "all cores, private counters",
          [](Histogram& p) { histogram_openmp(p.x.on_host(), p.n, p.counts.on_host()); }),
      histogram_rung("global_atomics", "one atomic per byte, one set of counters",
                     histogram_global_atomics),
      histogram_rung("shared_private", "counters per block in shared memory",
                     histogram_shared_private),
      histogram_rung("vectorized", "16 bytes per load", histogram_vectorized),
      histogram_rung("lane_columns", "counters per lane: no bank conflict", histogram_lane_columns),
      histogram_rung("runs", "16 equal bytes in one request", histogram_runs),
      histogram_rung("ahead", "next pieces asked for before these are counted", histogram_ahead),
      histogram_peer(),
      histogram_read_only(),
  };
}
