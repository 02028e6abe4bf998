// Problem C in reading order: every way to transpose.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "03_coalescing/transpose/01_sequential.hpp"
#include "03_coalescing/transpose/02_openmp.hpp"
#include "03_coalescing/transpose/03_read_coalesced.cuh"
#include "03_coalescing/transpose/04_write_coalesced.cuh"
#include "03_coalescing/transpose/05_tiled.cuh"
#include "03_coalescing/transpose/06_padded.cuh"
#include "03_coalescing/transpose/07_swizzled.cuh"
#include "03_coalescing/transpose/08_coarsened.cuh"
#include "03_coalescing/transpose/09_vectorized.cuh"
#include "03_coalescing/transpose/10_write_order.cuh"
#include "03_coalescing/transpose/beyond/01_aligned_stores.cuh"
#include "03_coalescing/transpose/chosen.cuh"
#include "03_coalescing/transpose/peers.cuh"
#include "03_coalescing/transpose/problem.cuh"
#include "03_coalescing/yardsticks.cuh"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/variant.cuh"
#include "common/bench/yardsticks.cuh"

namespace transpose {

bench::Ladder<Transpose> ladder() {
  using bench::cpu_variant;
  bench::Ladder<Transpose> ladder;
  ladder.name = Transpose::name;
  ladder.variants = {
      bench::baseline<Transpose>("sequential", "two loops",
                                 [](Transpose& p) {
                                   transpose_sequential(p.in.host_data(), p.out.host_data(), p.rows,
                                                        p.cols);
                                 }),
      cpu_variant<Transpose>("openmp", "tile by tile, on all cores",
                             [](Transpose& p) {
                               transpose_openmp(p.in.host_data(), p.out.host_data(), p.rows,
                                                p.cols);
                             }),
      coalescing::cpu_copy_yardstick<Transpose>(),
      transpose_rung("read_coalesced", "lanes along input rows: stores touch 32 sectors",
                     transpose_read_coalesced),
      transpose_rung("write_coalesced", "lanes along output rows: loads touch 32 sectors",
                     transpose_write_coalesced),
      transpose_rung("tiled", "corner turned in shared memory: 32-way bank conflict",
                     transpose_tiled),
      transpose_rung("padded", "rows of the tile one word longer: no conflict", transpose_padded),
      transpose_rung("swizzled", "columns XOR rows: no conflict and no padding",
                     transpose_swizzled),
      transpose_rung("coarsened", "four floats per thread", transpose_coarsened),
      transpose_rung("vectorized", "float4 on all four ways, 4 x 4 in registers",
                     transpose_vectorized),
      transpose_rung("write_order", "neighbouring blocks along output rows", transpose_write_order),
      transpose_rung("aligned_stores", "whole sectors written, however long a row is",
                     transpose_aligned_stores),
      transpose_chooser(),
      transpose_peer(),
      coalescing::copy_kernel_yardstick<Transpose>(),
      bench::device_copy(&Transpose::in, &Transpose::out),
  };
  ladder.settings = {bench::number("rows", "rows to transpose (default 2048; on a CPU 512)", 2048,
                                   512, 1, INT32_MAX),
                     bench::number("cols", "columns to transpose (default 3072; on a CPU 640)",
                                   3072, 640, 1, INT32_MAX)};
  ladder.make = [](const bench::Settings& settings, const bench::RunSettings& run) {
    return std::make_unique<Transpose>(settings["rows"], settings["cols"], run.seed);
  };
  ladder.memory = [](const bench::Settings& settings, const bench::RunSettings&) {
    return Transpose::memory(settings["rows"], settings["cols"]);
  };
  return ladder;
}

}  // namespace transpose

namespace ladders {

bench::Ladders transpose() { return {transpose::ladder()}; }

}  // namespace ladders
