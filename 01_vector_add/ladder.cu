// The index of this chapter: every way to compute y = x + y, in reading order.
#include <cstdint>
#include <memory>

#include "01_vector_add/01_sequential.hpp"
#include "01_vector_add/02_openmp.hpp"
#include "01_vector_add/03_cuda.cuh"
#include "01_vector_add/04_pinned.cuh"
#include "01_vector_add/05_unified.cuh"
#include "01_vector_add/06_unified_prefetch.cuh"
#include "01_vector_add/07_born_on_device.cuh"
#include "01_vector_add/08_grid_stride.cuh"
#include "01_vector_add/09_vectorized.cuh"
#include "01_vector_add/10_coarsened.cuh"
#include "01_vector_add/beyond/01_bulk_copy.cuh"
#include "01_vector_add/beyond/02_zero_copy.cuh"
#include "01_vector_add/peers.cuh"
#include "01_vector_add/problem.cuh"
#include "01_vector_add/study/advice.cuh"
#include "01_vector_add/study/first_launch.cuh"
#include "01_vector_add/study/stored_types.cuh"
#include "01_vector_add/study/sweeps.cuh"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/variant.cuh"

namespace vector_add {

bench::Ladder<VectorAdd> ladder() {
  using bench::cpu_variant, bench::device_variant, bench::round_trip_variant;
  const auto born_on_device = [](VectorAdd& p) {
    return vector_add_born_on_device(p.y.host_data(), p.n, p.x_seed, p.y_seed);
  };
  bench::Ladder<VectorAdd> ladder;
  ladder.name = VectorAdd::name;
  ladder.variants = {
      bench::baseline<VectorAdd>("sequential", "the loop", with_host_arrays(vector_add_sequential)),
      cpu_variant<VectorAdd>("openmp", "the loop, shared out over all cores",
                             with_host_arrays(vector_add_openmp)),
      vector_add_cpu_stream(),
      round_trip_variant<VectorAdd>("cuda",
                                    "the whole life cycle: allocate, copy, launch, copy back, free",
                                    with_host_arrays(vector_add_cuda)),
      round_trip_variant<VectorAdd>("pinned", "page-locked host memory: faster copies",
                                    with_host_arrays(vector_add_pinned)),
      round_trip_variant<VectorAdd>("unified", "managed memory: pages move when touched",
                                    with_host_arrays(vector_add_unified)),
      round_trip_variant<VectorAdd>("unified_prefetch", "managed memory, moved in advance",
                                    with_host_arrays(vector_add_unified_prefetch)),
      round_trip_variant<VectorAdd>("born_on_device", "the input is made on the device: no copy in",
                                    born_on_device),
      device_variant<VectorAdd>("grid_stride", "any grid covers any n; blocks from the SM count",
                                with_device_arrays(vector_add_grid_stride)),
      device_variant<VectorAdd>("vectorized", "float4: 16 bytes per load and store",
                                with_device_arrays(vector_add_vectorized)),
      device_variant<VectorAdd>("coarsened", "several independent loads in flight per thread",
                                with_device_arrays(vector_add_coarsened)),
      device_variant<VectorAdd>("bulk_copy", "TMA fills shared memory (sm_90)",
                                with_device_arrays(vector_add_bulk_copy), bench::needs_sm(90)),
      round_trip_variant<VectorAdd>("zero_copy", "the kernel reads and writes pinned host memory",
                                    with_host_arrays(vector_add_zero_copy)),
      vector_add_peer(),
      vector_add_device_copy(),
  };
  ladder.settings = {bench::number("n", "number of floats (default 10000000; on a CPU 1000003)",
                                   10'000'000, 1'000'003, 1, INT64_MAX)};
  ladder.make = [](const bench::Settings& settings, const bench::RunSettings& run) {
    return std::make_unique<VectorAdd>(settings["n"], run.seed);
  };
  ladder.memory = [](const bench::Settings& settings, const bench::RunSettings&) {
    return VectorAdd::memory(settings["n"]);
  };
  ladder.sweeps = {
      {"block", "block: rung `cuda` by threads per block", sweep_block, bench::Points::of_its_own},
      {"pieces", "pieces: rung `coarsened` by elements per thread", sweep_pieces,
       bench::Points::of_its_own},
      {"type", "type: y = x + y with fp32, fp16 and 8-bit elements", sweep_type,
       bench::Points::of_its_own},
      {"launch", "launch: the first launch of a kernel and those after it", sweep_launch,
       bench::Points::of_its_own},
      {"advice", "advice: a managed table that host and device read in turn", sweep_advice,
       bench::Points::of_its_own}};
  return ladder;
}

}  // namespace vector_add

namespace ladders {

bench::Ladders vector_add() { return {vector_add::ladder()}; }

}  // namespace ladders
