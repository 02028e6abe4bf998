// Problem B in reading order: an array of structures, then a structure of arrays.
#pragma once

#include <vector>

#include "03_coalescing/particles/01_sequential.hpp"
#include "03_coalescing/particles/02_openmp.hpp"
#include "03_coalescing/particles/03_aos.cuh"
#include "03_coalescing/particles/04_aos_vector.cuh"
#include "03_coalescing/particles/05_soa.cuh"
#include "03_coalescing/particles/06_soa_vector.cuh"
#include "03_coalescing/particles/problem.cuh"
#include "03_coalescing/yardsticks.cuh"
#include "common/variant.cuh"
#include "common/yardsticks.cuh"

// The same rung, judged by the structure of arrays.
inline common::Variant<Particles> advances_soa(common::Variant<Particles> variant) {
  variant.check = [](const Particles& p) { return p.check_soa(); };
  return variant;
}

inline std::vector<common::Variant<Particles>> particles_variants() {
  using common::on_cpu, common::on_device;
  constexpr float dt = Particles::kStep;
  return {
      on_cpu<Particles>("sequential", "a loop over an array of structures",
                        [](Particles& p) { particles_sequential(p.aos_on_host(), p.n, dt); }),
      on_cpu<Particles>("openmp", "the same on all cores",
                        [](Particles& p) { particles_openmp(p.aos_on_host(), p.n, dt); }),
      cpu_copy_yardstick<Particles>(),
      on_device<Particles>("aos", "array of structures: 32 sectors a request",
                           [](Particles& p, cudaStream_t stream) {
                             particles_aos(p.aos_on_device(), p.n, dt, stream);
                           }),
      on_device<Particles>("aos_vector", "array of structures, half a particle per access",
                           [](Particles& p, cudaStream_t stream) {
                             particles_aos_vector(p.aos_on_device(), p.n, dt, stream);
                           }),
      advances_soa(on_device<Particles>("soa", "structure of arrays: 4 sectors a request",
                                        [](Particles& p, cudaStream_t stream) {
                                          particles_soa(p.soa.on_device(), p.pitch, p.n, dt,
                                                        stream);
                                        })),
      advances_soa(
          on_device<Particles>("soa_vector", "structure of arrays, four particles a thread",
                               [](Particles& p, cudaStream_t stream) {
                                 particles_soa_vector(p.soa.on_device(), p.pitch, p.n, dt, stream);
                               })),
      copy_kernel_yardstick<Particles>(),
      common::device_copy(&Particles::aos, &Particles::soa),
  };
}
