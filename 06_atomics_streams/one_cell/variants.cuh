// The index of problem A: every way to sum into one cell, in reading order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "06_atomics_streams/one_cell/01_sequential.hpp"
#include "06_atomics_streams/one_cell/02_racy.cuh"
#include "06_atomics_streams/one_cell/03_atomic_add.cuh"
#include "06_atomics_streams/one_cell/04_warp_aggregated.cuh"
#include "06_atomics_streams/one_cell/05_block_aggregated.cuh"
#include "06_atomics_streams/one_cell/06_per_thread.cuh"
#include "06_atomics_streams/one_cell/problem.cuh"
#include "common/variant.cuh"

inline common::Variant<OneCell> one_cell_rung(const std::string& name, const std::string& idea,
                                              void (*launch)(const std::uint16_t*, std::int64_t,
                                                             unsigned long long*, cudaStream_t)) {
  return common::on_device<OneCell>(name, idea, [launch](OneCell& p, cudaStream_t stream) {
    launch(p.x.on_device(), p.n, p.total.on_device(), stream);
  });
}

inline std::vector<common::Variant<OneCell>> one_cell_variants() {
  return {
      common::on_cpu<OneCell>(
          "sequential", "one core, one running total",
          [](OneCell& p) { *p.total.on_host() = one_cell_sequential(p.x.on_host(), p.n); }),
      one_cell_rung("atomic_add", "one atomic request per sample", one_cell_atomic_add),
      one_cell_rung("warp_aggregated", "a warp adds up, lane 0 asks", one_cell_warp_aggregated),
      one_cell_rung("block_aggregated", "a cell per block in shared memory",
                    one_cell_block_aggregated),
      one_cell_rung("per_thread", "registers first, then warp, block, cell", one_cell_per_thread),
  };
}

// Wrong on purpose, hence kept apart: common/ knows right, wrong and skipped, and this one is none
// of them. racy_report.cuh runs it and says how wrong it was.
inline std::vector<common::Variant<OneCell>> one_cell_wrong_on_purpose() {
  return {one_cell_rung("racy", "WRONG ON PURPOSE: + instead of atomicAdd", one_cell_racy)};
}
