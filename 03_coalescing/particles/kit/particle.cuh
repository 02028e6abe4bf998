// A particle, and where its fields lie in either layout.
#pragma once

#include <cstdint>

namespace particles {

// One element of the array of structures: 32 bytes, as long as a sector. The alignment allows
// accesses of 16 bytes, to a kernel (aos_vector) and to the compiler (aos).
struct alignas(16) Particle {
  float x, y, z;
  float vx, vy, vz;
  float mass, charge;  // not needed for the step, and not to be changed by it
};
constexpr int kParticleFields = sizeof(Particle) / sizeof(float);
static_assert(kParticleFields == 8 && sizeof(Particle) == 32, "a particle has no gaps");

// The structure of arrays: field f of particle i is base[f * pitch + i]. The pitch is n rounded up
// to 32 floats, so that every field begins on a 128-byte line.
inline std::int64_t particle_pitch(std::int64_t n) { return (n + 31) / 32 * 32; }

}  // namespace particles
