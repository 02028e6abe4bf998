// Problem A: from polar to Cartesian coordinates. For n angles phi, the points z = (cos phi, sin
// phi) on the unit circle, stored as x, y, x, y, ...
#pragma once

#include <cmath>
#include <cstdint>

#include "common/bench/compare.hpp"
#include "common/bench/guarded_array.cuh"
#include "common/bench/memory_need.hpp"
#include "common/bench/report.hpp"
#include "common/bench/variant.cuh"
#include "common/kit/host_buffer.hpp"
#include "common/kit/random.cuh"

namespace polar {

// Largest |error| allowed.
//
// sinf, cosf and sincosf are at most 2 units in the last place off (CUDA C++ Programming Guide,
// "Mathematical Functions", table of the standard functions). Of a value below 1 such a unit is at
// most 2^-24. The C library of the host is better than that.
constexpr double kAccurateBound = 0x1p-23;
// __sinf and __cosf are off by at most that much for angles in [-pi, pi] (the same, table of the
// intrinsic functions); __sincosf does what the two do.
inline const double kFastSinBound = std::exp2(-21.41);
inline const double kFastCosBound = std::exp2(-21.19);

struct Polar {
  static constexpr const char* name = "polar";
  static constexpr float kLargestAngle = 3.1415925f;  // the last float that is not above pi

  std::int64_t n;
  std::int64_t step = 1;             // of the study of fast math: every step-th float is tried
  bench::GuardedArray<float> phi;    // n angles in radians, within [-pi, pi]
  bench::GuardedArray<float> z;      // n points, two floats each
  kit::HostBuffer<double> expected;  // of z, in double precision

  Polar(std::int64_t n, std::uint64_t seed)
      : n(n),
        phi("phi", bench::Role::input, n),
        z("z", bench::Role::output, 2 * n),
        expected(2 * n) {
    kit::fill_random(phi.pristine(), n, seed);
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < n; ++i) {
      phi.pristine()[i] *= kLargestAngle;
      expected[2 * i] = std::cos(static_cast<double>(phi.pristine()[i]));
      expected[2 * i + 1] = std::sin(static_cast<double>(phi.pristine()[i]));
    }
  }

  // The points on the device as what they are. The array is aligned to 8 bytes and more.
  float2* points_on_device() { return reinterpret_cast<float2*>(z.device_data()); }

  template <class Visit>
  void each_array(Visit visit) {
    visit(phi);
    visit(z);
  }

  bench::Comparison check() const {
    return bench::compare(z.fetched(), expected.data(), 2 * n, kAccurateBound);
  }
  // The comparison for a variant that uses the fast intrinsics.
  bench::Comparison check_fast() const {
    return bench::compare(z.fetched(), expected.data(), 2 * n, [](std::int64_t i) {
      return i % 2 == 0 ? kFastCosBound : kFastSinBound;
    });
  }

  bench::Sizes sizes() const { return {{"n", n}}; }
  double bytes() const { return 3.0 * sizeof(float) * static_cast<double>(n); }
  double flops() const { return 0; }  // how many a sine takes is the library's business

  // What a run takes, for the check before anything is allocated. On the host: angles and points
  // with their pristine copy, the reference, and what the yardsticks are compared with.
  static bench::MemoryNeed memory(std::int64_t n) {
    return {(6.0 * sizeof(float) + 2.0 * sizeof(double)) * static_cast<double>(n),
            3.0 * sizeof(float) * static_cast<double>(n)};
  }
};

// The variant's result is held to the bounds of the fast intrinsics.
inline bench::Variant<Polar> with_fast_bounds(bench::Variant<Polar> variant) {
  variant.check = [](const Polar& p) { return p.check_fast(); };
  return variant;
}

}  // namespace polar
