// openmp: the same objects, shared out over all cores.
//
// Each core owns a contiguous run of particles. What is still wrong is the bandwidth of a CPU. The
// next rung takes the same structure to the GPU and keeps everything else.
#pragma once

#include <cmath>
#include <cstdint>

#include "03_coalescing/particles/kit/particle.cuh"

namespace particles {

// Moves n particles by one step of length dt. Host pointer.
inline void particles_openmp(Particle* particles, std::int64_t n, float dt) {
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < n; ++i) {
    Particle& p = particles[i];
    p.x = std::fma(dt, p.vx, p.x);
    p.y = std::fma(dt, p.vy, p.y);
    p.z = std::fma(dt, p.vz, p.z);
  }
}

}  // namespace particles
