// Problem B: n particles take one step of time, position += dt * velocity. The arithmetic is the
// same everywhere; what differs is where the eight fields of a particle lie.
#pragma once

#include <cmath>
#include <cstdint>

#include "03_coalescing/particles/kit/particle.cuh"
#include "common/bench/compare.hpp"
#include "common/bench/guarded_array.cuh"
#include "common/bench/memory_need.hpp"
#include "common/bench/report.hpp"
#include "common/bench/variant.cuh"
#include "common/kit/host_buffer.hpp"
#include "common/kit/random.cuh"

namespace particles {

struct Particles {
  static constexpr const char* name = "particles";
  static constexpr float kStep = 0.01f;

  std::int64_t n, pitch;
  bench::GuardedArray<float> aos, soa;  // the same particles twice; a variant advances one of them
  kit::HostBuffer<float> expected_aos, expected_soa;

  Particles(std::int64_t n, std::uint64_t seed)
      : n(n),
        pitch(particle_pitch(n)),
        aos("aos", bench::Role::in_out, kParticleFields * n),
        soa("soa", bench::Role::in_out, kParticleFields * pitch),
        expected_aos(aos.size()),
        expected_soa(soa.size()) {
    kit::fill_random(aos.pristine(), aos.size(), seed);
    kit::fill_random(soa.pristine(), soa.size(), seed + 1);  // also behind the n-th particle
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < n; ++i) {
      for (int f = 0; f < kParticleFields; ++f) {
        soa.pristine()[f * pitch + i] = aos.pristine()[kParticleFields * i + f];
      }
    }
    kit::copy_parallel(expected_aos.data(), aos.pristine(), aos.size() * sizeof(float));
    kit::copy_parallel(expected_soa.data(), soa.pristine(), soa.size() * sizeof(float));
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

  Particle* aos_on_host() { return reinterpret_cast<Particle*>(aos.host_data()); }
  Particle* aos_on_device() { return reinterpret_cast<Particle*>(aos.device_data()); }

  // For the yardsticks.
  bench::GuardedArray<float>& source() { return aos; }
  bench::GuardedArray<float>& destination() { return soa; }
  const bench::GuardedArray<float>& source() const { return aos; }
  const bench::GuardedArray<float>& destination() const { return soa; }

  template <class Visit>
  void each_array(Visit visit) {
    visit(aos);
    visit(soa);
  }

  // Every variant uses fma, which rounds in one way only. Fields that the step does not touch are
  // compared too, and so is the layout that this variant has no business with.
  bench::Comparison check() const { return check_aos(); }
  bench::Comparison check_aos() const { return first_wrong(expected_aos.data(), soa.pristine()); }
  bench::Comparison check_soa() const { return first_wrong(aos.pristine(), expected_soa.data()); }

  bench::Sizes sizes() const { return {{"n", n}}; }
  double bytes() const { return (6.0 + 3.0) * sizeof(float) * static_cast<double>(n); }
  double flops() const { return 6.0 * static_cast<double>(n); }

  // For the check before anything is allocated: two layouts, each pristine, working and expected.
  static bench::MemoryNeed memory(std::int64_t n) {
    return {6.0 * sizeof(Particle) * (static_cast<double>(n) + 32),
            2.0 * sizeof(Particle) * (static_cast<double>(n) + 32)};
  }

 private:
  bench::Comparison first_wrong(const float* in_aos, const float* in_soa) const {
    const auto result = bench::compare(aos.fetched(), in_aos, aos.size(), 0.0);
    return result.right() ? bench::compare(soa.fetched(), in_soa, soa.size(), 0.0) : result;
  }
};

// The same rung, judged by the structure of arrays.
inline bench::Variant<Particles> advances_soa(bench::Variant<Particles> variant) {
  variant.check = [](const Particles& p) { return p.check_soa(); };
  return variant;
}

}  // namespace particles
