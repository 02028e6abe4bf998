// Problem A in reading order: every way to copy.
#include <cstdint>
#include <memory>
#include <vector>

#include "03_coalescing/copy/01_sequential.hpp"
#include "03_coalescing/copy/02_openmp.hpp"
#include "03_coalescing/copy/03_chunked.cuh"
#include "03_coalescing/copy/04_coalesced.cuh"
#include "03_coalescing/copy/05_restrict.cuh"
#include "03_coalescing/copy/06_vectorized.cuh"
#include "03_coalescing/copy/problem.cuh"
#include "03_coalescing/study/copy_sweeps.cuh"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/variant.cuh"
#include "common/bench/yardsticks.cuh"

namespace coalesced_copy {

bench::Ladder<Copy> ladder() {
  using bench::cpu_variant, bench::device_variant;
  bench::Ladder<Copy> ladder;
  ladder.name = Copy::name;
  ladder.variants = {
      bench::baseline<Copy>(
          "sequential", "the loop",
          [](Copy& p) { copy_sequential(p.x.host_data(), p.y.host_data(), p.n); }),
      cpu_variant<Copy>("openmp", "one contiguous piece per core",
                        [](Copy& p) { copy_openmp(p.x.host_data(), p.y.host_data(), p.n); }),
      device_variant<Copy>("chunked", "one contiguous piece per thread: 32 sectors a request",
                           [](Copy& p, cudaStream_t stream) {
                             copy_chunked(p.x.device_data(), p.y.device_data(), p.n, stream);
                           }),
      device_variant<Copy>("coalesced", "neighbouring threads, neighbouring floats: 4 sectors",
                           [](Copy& p, cudaStream_t stream) {
                             copy_coalesced(p.x.device_data(), p.y.device_data(), p.n, stream);
                           }),
      device_variant<Copy>("restrict", "x and y do not overlap: loads pass stores, seven in flight",
                           [](Copy& p, cudaStream_t stream) {
                             copy_restrict(p.x.device_data(), p.y.device_data(), p.n, stream);
                           }),
      device_variant<Copy>("vectorized",
                           "16 bytes per thread: 16 sectors, a quarter of the requests",
                           [](Copy& p, cudaStream_t stream) {
                             copy_vectorized(p.x.device_data(), p.y.device_data(), p.n, stream);
                           }),
      bench::device_copy(&Copy::x, &Copy::y),
  };
  ladder.settings = {bench::number("n", "floats to copy (default 10000000; on a CPU 1000003)",
                                   10'000'000, 1'000'003, 1, INT64_MAX)};
  ladder.make = [](const bench::Settings& settings, const bench::RunSettings& run) {
    return std::make_unique<Copy>(settings["n"], run.seed);
  };
  ladder.memory = [](const bench::Settings& settings, const bench::RunSettings&) {
    return Copy::memory(settings["n"]);
  };
  ladder.sweeps = {
      {"stride", "stride: loads 1 to 32 floats apart", sweep_stride, bench::Points::of_its_own},
      {"offset", "offset: loads that begin 0 to 31 floats on", sweep_offset,
       bench::Points::of_its_own}};
  return ladder;
}

}  // namespace coalesced_copy

namespace ladders {

bench::Ladders copy() { return {coalesced_copy::ladder()}; }

}  // namespace ladders
