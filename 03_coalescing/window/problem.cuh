// Problem D: a weighted sum over a sliding window, y[i] = sum over k = -r .. r of w[k + r] x[i +
// k]. x counts as zero outside of 0 .. n - 1. Also called a one-dimensional stencil, or a
// convolution.
#pragma once

#include <cuda_runtime.h>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <string>

#include "03_coalescing/window/kit/weights.cuh"
#include "common/bench/compare.hpp"
#include "common/bench/guarded_array.cuh"
#include "common/bench/memory_need.hpp"
#include "common/bench/report.hpp"
#include "common/bench/variant.cuh"
#include "common/kit/host_buffer.hpp"
#include "common/kit/random.cuh"

namespace window {

struct Window {
  static constexpr const char* name = "window";

  std::int64_t n;
  int radius;
  std::uint64_t id;  // no two problems have the same: tells whose weights are in constant memory
  bench::GuardedArray<float> x, weights, y;
  kit::HostBuffer<double> expected, magnitude;

  Window(std::int64_t n, int radius, std::uint64_t seed)
      : n(n),
        radius(radius),
        id(next_id()),
        x("x", bench::Role::input, n),
        weights("weights", bench::Role::input, 2 * radius + 1),
        y("y", bench::Role::output, n),
        expected(n),
        magnitude(n) {
    kit::fill_random(x.pristine(), n, 2 * seed);
    kit::fill_random(weights.pristine(), weights.size(), 2 * seed + 1);
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < n; ++i) {
      double sum = 0, size = 0;
      for (int k = -radius; k <= radius; ++k) {
        if (i + k < 0 || i + k >= n) continue;
        const double product =
            static_cast<double>(weights.pristine()[k + radius]) * x.pristine()[i + k];
        sum += product;
        size += std::fabs(product);
      }
      expected[i] = sum;
      magnitude[i] = size;
    }
  }

  int taps() const { return 2 * radius + 1; }

  // For the yardsticks.
  bench::GuardedArray<float>& source() { return x; }
  bench::GuardedArray<float>& destination() { return y; }
  const bench::GuardedArray<float>& source() const { return x; }
  const bench::GuardedArray<float>& destination() const { return y; }

  template <class Visit>
  void each_array(Visit visit) {
    visit(x);
    visit(weights);
    visit(y);
  }

  // m products, each added with at most two roundings of relative size u = 2^-24 in whatever order:
  // the error is below g = 2 m u / (1 - 2 m u) times the sum of the absolute products (Higham,
  // "Accuracy and Stability of Numerical Algorithms", section 3.1). With m <= 129 the denominator
  // is above 0.999.
  bench::Comparison check() const {
    const double g = 1.001 * 2 * taps() * std::ldexp(1.0, -24);
    return bench::compare(y.fetched(), expected.data(), n,
                          [&](std::int64_t i) { return g * magnitude[i]; });
  }

  bench::Sizes sizes() const { return {{"n", n}, {"radius", radius}}; }
  double bytes() const { return 2.0 * sizeof(float) * static_cast<double>(n); }
  double flops() const { return 2.0 * taps() * static_cast<double>(n); }

  // For the check before anything is allocated: x twice, y, and two arrays of double.
  static bench::MemoryNeed memory(std::int64_t n) {
    return {28.0 * static_cast<double>(n), 8.0 * static_cast<double>(n)};
  }

 private:
  static std::uint64_t next_id() {
    static std::atomic<std::uint64_t> last{0};
    return ++last;
  }
};

// Sees to it that constant memory holds the weights of this problem. They go there once per
// problem, not once per launch: a program sets its coefficients and then uses them.
inline void use_weights_of(const Window& p, cudaStream_t stream) {
  static std::uint64_t owner = 0;
  if (owner != p.id) window_set_weights(p.weights.pristine(), p.taps(), stream);
  owner = p.id;
}

// A rung that finds its weights in constant memory: void run(x, y, n, radius, stream).
template <class Run>
bench::Variant<Window> with_constant_weights(const std::string& name, const std::string& idea,
                                             Run run) {
  return bench::device_variant<Window>(name, idea, [run](Window& p, cudaStream_t stream) {
    use_weights_of(p, stream);
    run(p.x.device_data(), p.y.device_data(), p.n, p.radius, stream);
  });
}

}  // namespace window
