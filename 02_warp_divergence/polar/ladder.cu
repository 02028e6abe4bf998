// The index of problem A: every way from an angle to a point, in reading order.
#include <cstdint>
#include <memory>
#include <vector>

#include "02_warp_divergence/polar/01_sequential.hpp"
#include "02_warp_divergence/polar/02_openmp.hpp"
#include "02_warp_divergence/polar/03_divergent.cuh"
#include "02_warp_divergence/polar/04_uniform.cuh"
#include "02_warp_divergence/polar/05_vector_store.cuh"
#include "02_warp_divergence/polar/06_fast_math.cuh"
#include "02_warp_divergence/polar/07_coarsened.cuh"
#include "02_warp_divergence/polar/peers.cuh"
#include "02_warp_divergence/polar/problem.cuh"
#include "02_warp_divergence/study/fast_math.cuh"
#include "02_warp_divergence/study/polar_sweeps.cuh"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/variant.cuh"

namespace polar {

bench::Ladder<Polar> ladder() {
  using bench::cpu_variant, bench::device_variant;
  bench::Ladder<Polar> ladder;
  ladder.name = Polar::name;
  ladder.variants = {
      bench::baseline<Polar>(
          "sequential", "the loop",
          [](Polar& p) { polar_sequential(p.phi.host_data(), p.z.host_data(), p.n); }),
      cpu_variant<Polar>("openmp", "the loop, shared out over all cores",
                         [](Polar& p) { polar_openmp(p.phi.host_data(), p.z.host_data(), p.n); }),
      device_variant<Polar>("divergent", "a thread per number: even ones cos, odd ones sin",
                            [](Polar& p, cudaStream_t stream) {
                              polar_divergent(p.phi.device_data(), p.z.device_data(), p.n, stream);
                            }),
      device_variant<Polar>("uniform", "a thread per point: all lanes do the same",
                            [](Polar& p, cudaStream_t stream) {
                              polar_uniform(p.phi.device_data(), p.z.device_data(), p.n, stream);
                            }),
      device_variant<Polar>("vector_store", "sincosf, and one 8-byte store per point",
                            [](Polar& p, cudaStream_t stream) {
                              polar_vector_store(p.phi.device_data(), p.points_on_device(), p.n,
                                                 stream);
                            }),
      with_fast_bounds(device_variant<Polar>(
          "fast_math", "__sincosf: the special function units, 2^-21.2 off",
          [](Polar& p, cudaStream_t stream) {
            polar_fast_math(p.phi.device_data(), p.points_on_device(), p.n, stream);
          })),
      device_variant<Polar>("coarsened", "several angles in flight per thread; accurate again",
                            [](Polar& p, cudaStream_t stream) {
                              polar_coarsened(p.phi.device_data(), p.points_on_device(), p.n,
                                              stream);
                            }),
      polar_peer(),
      polar_stream(),
      polar_stream_coarsened(),
  };
  ladder.settings = {
      bench::number("n", "angles (default 10000000), elements (4000000); on a CPU 100003",
                    10'000'000, 100'003, 1, INT64_MAX),
      bench::number("step", "fast math: try every N-th float (default 1009)", 1009, 1, INT32_MAX)};
  ladder.make = [](const bench::Settings& settings, const bench::RunSettings& run) {
    auto problem = std::make_unique<Polar>(settings["n"], run.seed);
    problem->step = settings["step"];
    return problem;
  };
  ladder.memory = [](const bench::Settings& settings, const bench::RunSettings&) {
    return Polar::memory(settings["n"]);
  };
  ladder.sweeps = {{"pieces", "pieces: rung `coarsened` by angles per thread", sweep_pieces,
                    bench::Points::of_its_own}};
  ladder.after = report_fast_math;
  return ladder;
}

}  // namespace polar

namespace ladders {

bench::Ladders polar() { return {polar::ladder()}; }

}  // namespace ladders
