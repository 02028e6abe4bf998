// Problem B: n particles take one step of time, position += dt * velocity. The arithmetic is the
// same everywhere; what differs is where the eight fields of a particle lie.
#pragma once

#include <cmath>
#include <cstdint>

#include "common/compare.hpp"
#include "common/guarded_array.cuh"
#include "common/host_buffer.hpp"
#include "common/random.cuh"
#include "common/report.hpp"

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

struct Particles {
  static constexpr const char* name = "particles";
  static constexpr float kStep = 0.01f;

  std::int64_t n, pitch;
  common::GuardedArray<float> aos, soa;  // the same particles twice; a variant advances one of them
  common::HostBuffer<float> expected_aos, expected_soa;

  Particles(std::int64_t n, std::uint64_t seed)
      : n(n),
        pitch(particle_pitch(n)),
        aos("aos", common::Role::in_out, kParticleFields * n),
        soa("soa", common::Role::in_out, kParticleFields * pitch),
        expected_aos(aos.size()),
        expected_soa(soa.size()) {
    common::fill_random(aos.pristine(), aos.size(), seed);
    common::fill_random(soa.pristine(), soa.size(), seed + 1);  // also behind the n-th particle
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < n; ++i) {
      for (int f = 0; f < kParticleFields; ++f) {
        soa.pristine()[f * pitch + i] = aos.pristine()[kParticleFields * i + f];
      }
    }
    common::copy_parallel(expected_aos.data(), aos.pristine(), aos.size() * sizeof(float));
    common::copy_parallel(expected_soa.data(), soa.pristine(), soa.size() * sizeof(float));
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < n; ++i) {
      for (int f = 0; f < 3; ++f) {
        const float* particle = aos.pristine() + kParticleFields * i;
        const float moved = std::fma(kStep, particle[3 + f], particle[f]);
        expected_aos[kParticleFields * i + f] = moved;
        expected_soa[f * pitch + i] = moved;
      }
    }
  }

  Particle* aos_on_host() { return reinterpret_cast<Particle*>(aos.on_host()); }
  Particle* aos_on_device() { return reinterpret_cast<Particle*>(aos.on_device()); }

  // For the yardsticks.
  common::GuardedArray<float>& source() { return aos; }
  common::GuardedArray<float>& destination() { return soa; }
  const common::GuardedArray<float>& source() const { return aos; }
  const common::GuardedArray<float>& destination() const { return soa; }

  template <class Visit>
  void each_array(Visit visit) {
    visit(aos);
    visit(soa);
  }

  // Every variant uses fma, which rounds in one way only. Fields that the step does not touch are
  // compared too, and so is the layout that this variant has no business with.
  common::Comparison check() const { return check_aos(); }
  common::Comparison check_aos() const { return first_wrong(expected_aos.data(), soa.pristine()); }
  common::Comparison check_soa() const { return first_wrong(aos.pristine(), expected_soa.data()); }

  common::Sizes sizes() const { return {{"n", n}}; }
  double bytes() const { return (6.0 + 3.0) * sizeof(float) * static_cast<double>(n); }
  double flops() const { return 6.0 * static_cast<double>(n); }

  // For the check before anything is allocated: two layouts, each pristine, working and expected.
  static double host_bytes(std::int64_t n) {
    return 6.0 * sizeof(Particle) * (static_cast<double>(n) + 32);
  }
  static double device_bytes(std::int64_t n) {
    return 2.0 * sizeof(Particle) * (static_cast<double>(n) + 32);
  }

 private:
  common::Comparison first_wrong(const float* in_aos, const float* in_soa) const {
    const auto result = common::compare(aos.fetched(), in_aos, aos.size(), 0.0);
    return result.right() ? common::compare(soa.fetched(), in_soa, soa.size(), 0.0) : result;
  }
};
