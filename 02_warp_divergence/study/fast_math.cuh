// How far off are __sinf, __cosf and __sincosf? Measured over all floats of a range, or every
// step-th, against double precision, and judged against a stated bound.
//
// The special function unit computes the sine of a number of turns, so the compiler first
// multiplies the angle by the float c nearest to 1 / (2 pi). That product is where the error comes
// from once angles grow:
//   - c is too small by a relative 4.034e-8, which shifts the phase by |x| * 4.034e-8 radians;
//   - the product is cut off to 24 bits: it loses less than one unit in its last place.
// At |x| = 10000 the product is 1591.5 turns, with a last place of 2^-13 turns: together up to
// 1.17e-3 radians, and a sine or cosine changes by no more than its angle does.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "02_warp_divergence/polar/problem.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/lines.hpp"
#include "common/bench/report.hpp"
#include "common/bench/variant.cuh"
#include "common/kit/check.cuh"
#include "common/kit/device_buffer.cuh"

namespace polar {

// Largest errors of: __sinf, __cosf, the sine and the cosine of __sincosf.
constexpr int kFastFunctions = 4;
constexpr const char* kFastFunctionNames[kFastFunctions] = {"__sinf", "__cosf", "__sincosf sin",
                                                            "__sincosf cos"};

// A distance as an integer that is larger when the distance is: doubles that are not negative are
// ordered as their bits are. NaN comes out above every number, so it cannot hide behind one.
__device__ inline unsigned long long distance_bits(double a, double b) {
  return static_cast<unsigned long long>(__double_as_longlong(fabs(a - b)));
}

// Raises worst[f] to the largest distance_bits of function f. The angles are the floats whose bits
// are first, first + step, ... < end, and their negatives. Any grid.
__global__ void fast_math_error_kernel(unsigned long long* worst, std::int64_t first,
                                       std::int64_t end, std::int64_t step) {
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  unsigned long long most[kFastFunctions] = {};
  for (std::int64_t bits = first + thread * step; bits < end; bits += threads * step) {
    const float positive = __int_as_float(static_cast<int>(bits));
    for (const float angle : {positive, -positive}) {
      double sine, cosine;
      sincos(static_cast<double>(angle), &sine, &cosine);
      float fast_sine, fast_cosine;
      __sincosf(angle, &fast_sine, &fast_cosine);
      most[0] = max(most[0], distance_bits(__sinf(angle), sine));
      most[1] = max(most[1], distance_bits(__cosf(angle), cosine));
      most[2] = max(most[2], distance_bits(fast_sine, sine));
      most[3] = max(most[3], distance_bits(fast_cosine, cosine));
    }
  }
  for (int f = 0; f < kFastFunctions; ++f) atomicMax(worst + f, most[f]);
}

// Largest absolute errors over every step-th float of [-limit, limit], in the order of
// kFastFunctionNames. limit >= 0, step >= 1. NaN if a result was NaN.
inline std::vector<double> fast_math_errors(float limit, std::int64_t step) {
  std::int32_t last = 0;
  std::memcpy(&last, &limit, sizeof last);
  const kit::DeviceBuffer<unsigned long long> d_worst(kFastFunctions);
  CUDA_CHECK(cudaMemset(d_worst.data(), 0, d_worst.bytes()));
  const int grid = 1024, block = 256;
  fast_math_error_kernel<<<grid, block>>>(d_worst.data(), 0, std::int64_t{last} + 1, step);
  CUDA_CHECK(cudaGetLastError());
  std::vector<double> errors(kFastFunctions);
  static_assert(sizeof(double) == sizeof(unsigned long long), "one is read as the other");
  CUDA_CHECK(cudaMemcpy(errors.data(), d_worst.data(), d_worst.bytes(), cudaMemcpyDeviceToHost));
  return errors;
}

// What the errors are held to. Within pi: the programming guide's word. Beyond, where it gives
// none: the derivation above, plus what the unit itself may be off by.
inline double fast_math_bound(int function, double limit) {
  constexpr double kPi = 3.141592653589793;
  const double within_pi = function % 2 == 0 ? kFastSinBound : kFastCosBound;
  if (limit <= kPi) return within_pi;
  constexpr double kReciprocal = 0.15915493667125702;  // the float nearest to 1 / (2 pi)
  const double too_small_by = 1 - kReciprocal * 2 * kPi;
  const double last_place = std::exp2(std::floor(std::log2(limit / (2 * kPi))) - 23);  // turns
  return limit * too_small_by + 2 * kPi * last_place + within_pi;
}

// Below the table, if the rung has run: one report per range, with a row per function, right if it
// stays within its bound.
inline bench::Shown report_fast_math(const bench::RunSettings& run, Polar& problem,
                                     const std::vector<bench::Variant<Polar>>& variants,
                                     const bench::ProblemReport&) {
  const bool wanted = std::any_of(variants.begin(), variants.end(),
                                  [](const auto& v) { return v.name == "fast_math"; });
  if (!wanted || run.verify_only || !run.device.available) return {};
  bench::Shown shown;
  const struct {
    const char* problem;
    const char* range;
    float limit;
  } ranges[] = {{"fast_math_pi", "[-pi, pi]", Polar::kLargestAngle},
                {"fast_math_10000", "[-10000, 10000]", 10000.0f}};
  for (const auto& range : ranges) {
    run.progress(std::string("measuring __sinf and __cosf over ") + range.range);
    const std::vector<double> errors = fast_math_errors(range.limit, problem.step);
    run.progress("");
    bench::ProblemReport report;
    report.problem = range.problem;
    report.sizes = {{"every step-th float, step", problem.step}};
    for (int f = 0; f < kFastFunctions; ++f) {
      bench::Row row;
      row.name = kFastFunctionNames[f];
      const bool within = errors[f] <= fast_math_bound(f, range.limit);  // false for NaN
      row.verdict.status = within ? bench::Status::right : bench::Status::wrong;
      row.verdict.max_error = errors[f];
      if (!within) row.verdict.reason = "above its bound";
      report.rows.push_back(row);
    }
    shown.push_back(report);
    for (int f = 0; f < kFastFunctions; ++f) {
      const double bound = fast_math_bound(f, range.limit);
      shown.push_back(bench::formatted("%-13s on %s: %.3g = 2^%.1f off, bound %.3g = 2^%.1f\n",
                                       kFastFunctionNames[f], range.range, errors[f],
                                       std::log2(errors[f]), bound, std::log2(bound)));
    }
  }
  if (!run.device.is_real_gpu()) {
    shown.push_back("(without a GPU these functions are the sine and cosine of the host)\n");
  }
  return shown;
}

}  // namespace polar
