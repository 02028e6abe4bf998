// How wrong is a sum of floats? It depends on the order and the accumulator, not on the machine.
//
// Each addition rounds its result by at most u = 2^-24 of it. An element that passes through h
// additions on its way to the sum thus contributes an error of at most about h u times its size
// (Higham, "Accuracy and Stability of Numerical Algorithms", chapter 4). The loop has h = n - 1, a
// tree h = log2 n. Kahan's loop keeps what each addition lost and needs h = 2, whatever n is.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "05_reduction/sum/01_sequential.hpp"
#include "05_reduction/sum/14_tuned.cuh"
#include "common/bench/report.hpp"
#include "common/bench/run_settings.hpp"
#include "common/kit/check.cuh"
#include "common/kit/device_buffer.cuh"
#include "common/kit/host_buffer.hpp"
#include "common/kit/random.cuh"

namespace reduction {

// Sum of n floats by halves: the left one, the right one, and their sum.
inline float sum_pairwise(const float* x, std::int64_t n) {
  if (n <= 0) return 0;
  if (n == 1) return x[0];
  return sum_pairwise(x, n / 2) + sum_pairwise(x + n / 2, n - n / 2);
}

// The loop, with the rounding error of each addition taken into account in the next (Kahan,
// "Further remarks on reducing truncation errors", 1965). A compiler that may regroup additions
// (-ffast-math) would find that `lost` is always 0.
inline float sum_kahan(const float* x, std::int64_t n) {
  float sum = 0, lost = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const float corrected = x[i] - lost;
    const float next = sum + corrected;
    lost = (next - sum) - corrected;
    sum = next;
  }
  return sum;
}

inline double sum_in_double(const float* x, std::int64_t n) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += x[i];
  return sum;
}

// The exact sum: the inputs below are multiples of 2^-24 in [0, 1), so they add up as integers.
inline double exact_sum(const float* x, std::int64_t n) {
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += static_cast<std::int64_t>(x[i] * 16777216.0);
  return static_cast<double>(sum) / 16777216.0;
}

// The sum of `tuned`.
inline float sum_on_device(const float* x, std::int64_t n) {
  const kit::DeviceBuffer<float> d_x(n), d_result(1), d_partials(n / kTunedTile + 1);
  const kit::DeviceBuffer<unsigned> d_counter(1);
  CUDA_CHECK(cudaMemset(d_counter.data(), 0, d_counter.bytes()));
  CUDA_CHECK(cudaMemcpy(d_x.data(), x, n * sizeof(float), cudaMemcpyHostToDevice));
  sum_tuned<Plus>(d_x.data(), d_result.data(), n, d_partials.data(), d_counter.data(), nullptr);
  float result = 0;
  CUDA_CHECK(cudaMemcpy(&result, d_result.data(), sizeof result, cudaMemcpyDeviceToHost));
  return result;
}

// Numbers in [0, 1), all of one sign: then the relative error cannot hide behind cancellation.
inline void fill_positive(float* x, std::int64_t n, std::uint64_t seed) {
  for (std::int64_t i = 0; i < n; ++i) {
    x[i] = static_cast<float>(kit::random_bits(seed, i) >> 40) / 16777216.0f;
  }
}

// Errors of the sums of the first 2^10, 2^13, ... numbers, up to n and at most 2^28, as multiples
// of u times the sum: 1 is as good as a float can be expected to be.
inline bench::Sweep summation_errors(const bench::RunSettings& run, std::int64_t n) {
  const std::int64_t most = std::min<std::int64_t>(n, 1 << 28);
  kit::HostBuffer<float> x(most);
  fill_positive(x.data(), most, run.seed);
  bench::Sweep table{"error of a sum of floats in [0, 1), as a multiple of 2^-24 of it",
                     "n",
                     {"n", "loop", "pairwise", "kahan", "gpu_tuned", "double_loop"},
                     {}};
  for (std::int64_t m = 1 << 10; m <= most; m *= 8) {
    const double exact = exact_sum(x.data(), m);
    const auto error = [exact](double sum) { return std::fabs(sum - exact) / exact * 0x1p24; };
    const bool has_gpu = run.device.available;
    table.points.push_back({static_cast<double>(m), error(sum_sequential(x.data(), m)),
                            error(sum_pairwise(x.data(), m)), error(sum_kahan(x.data(), m)),
                            has_gpu ? error(sum_on_device(x.data(), m)) : bench::kUnknown,
                            error(sum_in_double(x.data(), m))});
  }
  return table;
}

}  // namespace reduction
