// The problem: C = A B in single precision, for any m, n, k. All three matrices are dense and
// row-major: A is m x k, B is k x n, C is m x n.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "04_matmul/reference.hpp"
#include "04_matmul/shape.hpp"
#include "common/bench/compare.hpp"
#include "common/bench/device_facts.cuh"
#include "common/bench/guarded_array.cuh"
#include "common/bench/input_sets.cuh"
#include "common/bench/memory_need.hpp"
#include "common/bench/report.hpp"
#include "common/bench/variant.cuh"
#include "common/kit/host_buffer.hpp"
#include "common/kit/random.cuh"

namespace matmul::sgemm {

struct Sgemm {
  using Inputs = bench::InputSets<float, 2>;
  static constexpr const char* name = "sgemm";
  static constexpr int kElementBytes = sizeof(float);

  Shape shape;
  bench::GuardedArray<float> a, b, c;
  kit::HostBuffer<double> expected;

  // is_real_gpu: false where kernels run on the CPU; then one launch makes a sample.
  Sgemm(Shape shape, std::uint64_t seed, bool is_real_gpu = true)
      : shape(shape),
        a("A", bench::Role::input, shape.m * shape.k),
        b("B", bench::Role::input, shape.k * shape.n),
        c("C", bench::Role::output, shape.m * shape.n),
        expected(shape.m * shape.n),
        launches_(is_real_gpu ? launches_per_sample(shape) : 1) {
    kit::fill_random(a.pristine(), a.size(), 2 * seed);
    kit::fill_random(b.pristine(), b.size(), 2 * seed + 1);
    multiply_in_double(a.pristine(), b.pristine(), expected.data(), shape.m, shape.n, shape.k);
    a_norms_ = row_norms(a.pristine(), shape.m, shape.k);
    b_norms_ = column_norms(b.pristine(), shape.k, shape.n);
  }

  // The inputs on the device, of the set that rotate() chose.
  const float* device_a() { return sets_.device_data(0, a); }
  const float* device_b() { return sets_.device_data(1, b); }

  template <class Visit>
  void each_array(Visit visit) {
    visit(a);
    visit(b);
    visit(c);
  }

  // The most an element of C may be off, when every multiplication and addition errs by at most
  // 2^-24 of its result, as in fp32. The smaller of two bounds:
  // - No luck needed: a sum of k products passes each product through at most k roundings, in any
  //   order of summation, so it errs by k u sum|a b| (Higham, Accuracy and Stability of Numerical
  //   Algorithms, 2nd ed., section 3.1), and sum|a b| <= |row of A| |column of B|.
  // - Random signs: partial sums of products with random signs stay below L s, where s is the root
  //   of the sum of the squared products, and the sum of k roundings of random sign, each at most
  //   u L s, below L sqrt(k) u L s (Hoeffding's inequality, twice). As all inputs are below 1 in
  //   size, s is at most the smaller of the two norms. L^2 = 85 is passed with a probability of
  //   less than 3 exp(-42) a sum: not once in a lifetime. This one grows like k, the first like
  //   k^2, since norms grow like sqrt(k).
  double bound(std::int64_t row, std::int64_t column) const {
    const double ku = shape.k * std::ldexp(1.0, -24);
    const double certain = ku < 1 ? ku / (1 - ku) * a_norms_[row] * b_norms_[column] : HUGE_VAL;
    return std::min(certain,
                    kSquaredDeviations * ku / std::sqrt(1.0 * shape.k) * smaller_norm(row, column));
  }
  bench::Comparison check() const {
    return compare([this](std::int64_t row, std::int64_t column) { return bound(row, column); });
  }

  // The same where both inputs are rounded to TF32 first, 11 significant bits: each product is off
  // by another 2^-10 of it at most, with random signs again.
  bench::Comparison check_tf32() const {
    return compare([this](std::int64_t row, std::int64_t column) {
      const double certain = a_norms_[row] * b_norms_[column];
      const double likely = std::sqrt(kSquaredDeviations) * smaller_norm(row, column);
      return bound(row, column) + std::ldexp(std::min(certain, likely), -10);
    });
  }

  bench::Sizes sizes() const { return {{"m", shape.m}, {"n", shape.n}, {"k", shape.k}}; }
  double bytes() const { return shape.bytes(); }
  double flops() const { return shape.flops(); }

  // Enough launches that starting the first and stopping the last do not count.
  int batch() const { return launches_; }

  void rotate(int k) { sets_.rotate(k, {&a, &b}); }

  double peak_gflops(const bench::DeviceFacts& device) const { return device.peak_fp32_gflops; }

  // For the check before anything is allocated. Host: A, B, C twice and the reference in double;
  // device: A, B, C and the other sets.
  static bench::MemoryNeed memory(Shape shape) {
    return {2 * shape.bytes() + 8.0 * shape.m * shape.n, 2 * shape.bytes() + Inputs::kBytes};
  }

 private:
  static constexpr double kSquaredDeviations = 85;  // L^2 of bound()

  double smaller_norm(std::int64_t row, std::int64_t column) const {
    return std::min(a_norms_[row], b_norms_[column]);
  }
  template <class Bound>
  bench::Comparison compare(Bound bound) const {
    return bench::compare(c.fetched(), expected.data(), c.size(), [this, bound](std::int64_t i) {
      return bound(i / shape.n, i % shape.n);
    });
  }

  static int launches_per_sample(Shape shape) {
    const double launches = 20 * std::pow(4096.0, 3) / (1.0 * shape.m * shape.n * shape.k);
    return static_cast<int>(std::clamp(launches, 4.0, 400.0));
  }

  std::vector<double> a_norms_, b_norms_;
  Inputs sets_;
  int launches_;
};

// A rung on the device: void run(a, b, c, m, n, k, stream).
template <class Run>
bench::Variant<Sgemm> sgemm_rung(const std::string& name, const std::string& idea, Run run,
                                 bench::Needs needs = {}) {
  return bench::device_variant<Sgemm>(
      name, idea,
      [run](Sgemm& p, cudaStream_t stream) {
        run(p.device_a(), p.device_b(), p.c.device_data(), static_cast<int>(p.shape.m),
            static_cast<int>(p.shape.n), static_cast<int>(p.shape.k), stream);
      },
      needs);
}

// A function on the host: void multiply(a, b, c, m, n, k).
template <class Multiply>
auto on_host(Multiply multiply) {
  return [multiply](Sgemm& p) {
    multiply(p.a.host_data(), p.b.host_data(), p.c.host_data(), p.shape.m, p.shape.n, p.shape.k);
  };
}

}  // namespace matmul::sgemm
