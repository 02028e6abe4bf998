// Problem B in reading order: an array of structures, then a structure of arrays.
#include <cstdint>
#include <memory>
#include <vector>

#include "03_coalescing/particles/01_sequential.hpp"
#include "03_coalescing/particles/02_openmp.hpp"
#include "03_coalescing/particles/03_aos.cuh"
#include "03_coalescing/particles/04_aos_vector.cuh"
#include "03_coalescing/particles/05_soa.cuh"
#include "03_coalescing/particles/06_soa_vector.cuh"
#include "03_coalescing/particles/problem.cuh"
#include "03_coalescing/yardsticks.cuh"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/variant.cuh"
#include "common/bench/yardsticks.cuh"

namespace particles {

bench::Ladder<Particles> ladder() {
  using bench::cpu_variant, bench::device_variant;
  constexpr float dt = Particles::kStep;
  bench::Ladder<Particles> ladder;
  ladder.name = Particles::name;
  ladder.variants = {
      bench::baseline<Particles>(
          "sequential", "a loop over an array of structures",
          [](Particles& p) { particles_sequential(p.aos_on_host(), p.n, dt); }),
      cpu_variant<Particles>("openmp", "the same on all cores",
                             [](Particles& p) { particles_openmp(p.aos_on_host(), p.n, dt); }),
      coalescing::cpu_copy_yardstick<Particles>(),
      device_variant<Particles>("aos", "array of structures: 32 sectors a request",
                                [](Particles& p, cudaStream_t stream) {
                                  particles_aos(p.aos_on_device(), p.n, dt, stream);
                                }),
      device_variant<Particles>("aos_vector", "array of structures, half a particle per access",
                                [](Particles& p, cudaStream_t stream) {
                                  particles_aos_vector(p.aos_on_device(), p.n, dt, stream);
                                }),
      advances_soa(device_variant<Particles>("soa", "structure of arrays: 4 sectors a request",
                                             [](Particles& p, cudaStream_t stream) {
                                               particles_soa(p.soa.device_data(), p.pitch, p.n, dt,
                                                             stream);
                                             })),
      advances_soa(device_variant<Particles>(
          "soa_vector", "structure of arrays, four particles a thread",
          [](Particles& p, cudaStream_t stream) {
            particles_soa_vector(p.soa.device_data(), p.pitch, p.n, dt, stream);
          })),
      coalescing::copy_kernel_yardstick<Particles>(),
      bench::device_copy(&Particles::aos, &Particles::soa),
  };
  ladder.settings = {bench::number("particles", "particles (default 2000000; on a CPU 100003)",
                                   2'000'000, 100'003, 1, INT64_MAX)};
  ladder.make = [](const bench::Settings& settings, const bench::RunSettings& run) {
    return std::make_unique<Particles>(settings["particles"], run.seed);
  };
  ladder.memory = [](const bench::Settings& settings, const bench::RunSettings&) {
    return Particles::memory(settings["particles"]);
  };
  return ladder;
}

}  // namespace particles

namespace ladders {

bench::Ladders particles() { return {particles::ladder()}; }

}  // namespace ladders
