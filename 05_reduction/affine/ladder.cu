// The index of this problem: every way to reduce in order, in reading order.
#include <cstdint>
#include <memory>
#include <vector>

#include "05_reduction/affine/01_sequential.hpp"
#include "05_reduction/affine/02_openmp.hpp"
#include "05_reduction/affine/03_contiguous.cuh"
#include "05_reduction/affine/04_ordered_shuffle.cuh"
#include "05_reduction/affine/peers.cuh"
#include "05_reduction/affine/problem.cuh"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/variant.cuh"

namespace affine {

bench::Ladder<Affine> ladder() {
  using bench::cpu_variant, bench::device_variant;
  bench::Ladder<Affine> ladder;
  ladder.name = Affine::name;
  ladder.variants = {
      bench::baseline<Affine>(
          "sequential", "the loop",
          [](Affine& p) { *p.result.host_data() = affine_sequential(p.maps.host_data(), p.n); }),
      cpu_variant<Affine>(
          "openmp", "a stretch per core, combined in order",
          [](Affine& p) { *p.result.host_data() = affine_openmp(p.maps.host_data(), p.n); }),
      device_variant<Affine>("contiguous", "a run per thread; neighbours combine",
                             [](Affine& p, cudaStream_t stream) {
                               affine_contiguous(p.maps.device_data(), p.result.device_data(), p.n,
                                                 p.partials.device_data(), stream);
                             }),
      device_variant<Affine>("ordered_shuffle", "coalesced rows; shuffles that keep the order",
                             [](Affine& p, cudaStream_t stream) {
                               affine_ordered_shuffle(p.maps.device_data(), p.result.device_data(),
                                                      p.n, p.partials.device_data(), stream);
                             }),
      affine_peer(),
  };
  ladder.settings = {bench::number("n", "number of elements (default 2097152; on a CPU 262144)",
                                   1 << 21, 1 << 18, 1, std::int64_t{1} << 40)};
  ladder.make = [](const bench::Settings& settings, const bench::RunSettings& run) {
    return std::make_unique<Affine>(settings["n"], run.seed);
  };
  ladder.memory = [](const bench::Settings& settings, const bench::RunSettings&) {
    return Affine::memory(settings["n"]);
  };
  return ladder;
}

}  // namespace affine

namespace ladders {

bench::Ladders affine() { return {affine::ladder()}; }

}  // namespace ladders
