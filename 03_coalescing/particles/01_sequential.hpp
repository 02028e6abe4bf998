// sequential: an array of structures (AoS), as one writes it without thinking of memory.
//
// A particle is one object, and the loop goes through the objects. All fields of a particle share a
// cache line, so for one core this is a good layout. Of the 32 bytes of a particle 24 are read and
// 12 written. What is still wrong: the other cores are idle.
#pragma once

#include <cmath>
#include <cstdint>

#include "03_coalescing/particles/kit/particle.cuh"

namespace particles {

// Moves n particles by one step of length dt. Host pointer.
inline void particles_sequential(Particle* particles, std::int64_t n, float dt) {
  for (std::int64_t i = 0; i < n; ++i) {
    Particle& p = particles[i];
    p.x = std::fma(dt, p.vx, p.x);
    p.y = std::fma(dt, p.vy, p.y);
    p.z = std::fma(dt, p.vz, p.z);
  }
}

}  // namespace particles
