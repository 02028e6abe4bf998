// The problem: O = softmax(Q K^T / sqrt(d)) V and the log-sum-exp of each row, for any batch,
// number of heads, number of queries and of keys, causal or not, in fp32 or with Q, K, V and O in
// bf16 or fp16.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cuda_runtime.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "07_flash_attention/element.hpp"
#include "07_flash_attention/known_rows.hpp"
#include "07_flash_attention/reference.hpp"
#include "07_flash_attention/shape.hpp"
#include "common/bench/compare.hpp"
#include "common/bench/device_facts.cuh"
#include "common/bench/guarded_array.cuh"
#include "common/bench/input_sets.cuh"
#include "common/bench/memory_need.hpp"
#include "common/bench/report.hpp"
#include "common/bench/variant.cuh"
#include "common/kit/random.cuh"
#include "common/kit/workspace.cuh"

namespace attention {

// T is float, __nv_bfloat16 or __half.
template <class T>
struct Problem {
  static constexpr bool kIs16Bit = !std::is_same_v<T, float>;
  static constexpr const char* name = Element<T>::problem;
  using Inputs = bench::InputSets<T, 3>;

  Shape shape;
  bool is_real_gpu;
  bench::GuardedArray<T> q, k, v, o;
  bench::GuardedArray<float> lse;
  kit::Workspace workspace;
  Reference expected;

  // spread: standard deviation of the scores; at 2500 they reach about 10000. is_real_gpu:
  // false where kernels run on the CPU; then one launch makes a sample.
  Problem(const Shape& shape, std::uint64_t seed, double spread = 1, bool is_real_gpu = true)
      : shape(shape),
        is_real_gpu(is_real_gpu),
        q("Q", bench::Role::input, shape.rows() * shape.d),
        k("K", bench::Role::input, shape.all_heads() * shape.n_k * shape.d),
        v("V", bench::Role::input, shape.all_heads() * shape.n_k * shape.d),
        o("O", bench::Role::output, shape.rows() * shape.d),
        lse("log-sum-exp", bench::Role::output, shape.rows()) {
    // Elements of K and V are uniform in [-1, 1) and have variance 1/3; a score is the sum of d
    // products over sqrt(d), so elements of Q in [-3 spread, 3 spread) give it variance spread^2.
    fill(q, 3 * seed, 3 * spread);
    fill(k, 3 * seed + 1, 1);
    fill(v, 3 * seed + 2, 1);
    compute_reference();
  }

  // For inputs of one's own: fill the pristine arrays, then call this.
  void compute_reference() {
    expected = reference_of(shape, q.pristine(), k.pristine(), v.pristine(), kMostReferenceFlops);
    key_norms_ = largest_per_head(k, true);
    value_sizes_ = largest_per_head(v, false);
    eager_error_ = error_of(expected.eager_o, expected.o);
    eager_lse_error_ = error_of(expected.eager_lse, expected.lse);
    if constexpr (kIs16Bit) eager_bound_ = 2 * std::max(eager_error_, last_rounding());
  }

  Tensors<T> host_data() {
    return {q.host_data(), k.host_data(), v.host_data(), o.host_data(), lse.host_data()};
  }
  // The inputs of the set that rotate() chose.
  Tensors<T> device_data() {
    return {inputs_.device_data(0, q), inputs_.device_data(1, k), inputs_.device_data(2, v),
            o.device_data(), lse.device_data()};
  }

  template <class Visit>
  void each_array(Visit visit) {
    visit(q);
    visit(k);
    visit(v);
    visit(o);
    visit(lse);
  }

  // The largest errors of what T costs when scores and weights go through memory as T, over the
  // rows that are compared. 0 in fp32.
  double eager_error() const { return eager_error_; }
  double eager_lse_error() const { return eager_lse_error_; }

  // The most an element of row `row` (of all) may be off, for a variant that keeps scores in fp32.
  // With u = 2^-24, the rounding of one fp32 operation, relative to its result:
  // - a score is a sum of d products, off by at most score_error(row);
  // - a weight exp(score - largest) is then off by the factor exp(2 score_error), and by 4 u from
  //   computing the exponential;
  // - the sums of n weights, and of n weighted values, pass through n roundings of terms of one
  //   sign: n u at most, and L sqrt(n) u if the roundings have random signs (Hoeffding's
  //   inequality, L^2 = 85: not once in a lifetime);
  // - an output is the quotient of two such sums, and at most the largest value in size.
  // In 16 bits weights and outputs are rounded once more, kUnit each. A small weight of fp16 does
  // not keep that relative error: it may be off by kTiny instead, and is lost if it is no larger
  // (2^-25 or 3e-8). Each of n keys can be off by that, against a sum of at least 1, since the key
  // that set the shift has weight 1: n kTiny, which passes kUnit from 2^14 keys on. But there a
  // second bound holds as well, mostly the smaller one: twice the error of the plain way in T. The
  // plain way loses more: it rounds weights that are divided by their sum already.
  double bound(std::int64_t row) const {
    const double weights = std::expm1(2 * score_error(row)) + 4 * kFp32Unit;
    double relative = 2 * (weights + sum_error()) + 4 * kFp32Unit;
    if (kIs16Bit) {
      relative += 2 * Element<T>::kUnit + static_cast<double>(shape.n_k) * Element<T>::kTiny;
    }
    const double certain = relative * value_sizes_[row / shape.n_q];
    return kIs16Bit ? std::min(certain, eager_bound()) : certain;
  }
  double lse_bound(std::int64_t row) const {
    const double sum = std::expm1(2 * score_error(row)) + sum_error() + 8 * kFp32Unit;
    return sum + 8 * kFp32Unit * std::log(1.0 + static_cast<double>(shape.n_k));
  }
  // For a variant that computes in the plain way in T.
  double eager_bound() const { return eager_bound_; }

  bench::Comparison check() const {
    return check([this](std::int64_t row) { return bound(row); },
                 [this](std::int64_t row) { return lse_bound(row); });
  }
  bench::Comparison check_eager() const {
    return check([this](std::int64_t) { return eager_bound(); },
                 [this](std::int64_t row) { return 2 * eager_lse_error_ + lse_bound(row); });
  }

  bench::Sizes sizes() const {
    return {{"batch", shape.batch}, {"heads", shape.heads}, {"n", shape.n_q},
            {"nk", shape.n_k},      {"d", shape.d},         {"causal", shape.causal}};
  }
  double bytes() const { return attention::bytes(shape, sizeof(T)); }
  double flops() const { return attention::flops(shape); }

  // Launches per sample: 5 to 10 ms of work for the fast rungs.
  int batch() const {
    if (!is_real_gpu) return 1;
    return static_cast<int>(
        std::clamp((kIs16Bit ? 4e12 : 4e11) / attention::flops(shape), 1.0, 100.0));
  }

  void rotate(int index) {
    if (is_real_gpu) inputs_.rotate(index, {&q, &k, &v});
  }

  double peak_gflops(const bench::DeviceFacts& device) const {
    return kIs16Bit ? peak_bf16_gflops(device) : device.peak_fp32_gflops;
  }

  // What the last variant asked for beside the arrays.
  double scratch_bytes() const { return workspace.asked_bytes(); }
  void forget_scratch() { workspace.forget(); }

  static constexpr double kBeside = 1e8;  // on the host, whatever the shape: libraries

  // Without the workspace, for want of which a rung is skipped.
  static bench::MemoryNeed memory(const Shape& shape) {
    const double bytes = attention::bytes(shape, sizeof(T));
    return {3 * bytes + reference_bytes<T>(shape, kMostReferenceFlops) + kBeside,
            2 * bytes + Inputs::kBytes};
  }

 private:
  static constexpr double kMostReferenceFlops = 1e10;  // a second or two
  static constexpr double kRounded = 1 + 0x1p-7;  // weights and outputs are, to 8 bits at worst

  static void fill(bench::GuardedArray<T>& array, std::uint64_t seed, double factor) {
    T* to = array.pristine();
    const std::int64_t count = array.size();
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < count; ++i) {
      to[i] = T(static_cast<float>(factor) * kit::random_float(seed, i));
    }
  }

  double sum_error() const { return rounding_of_sum(static_cast<double>(shape.n_k)); }

  // No partial sum of a score exceeds |q| |k|; scaling and subtracting the largest round thrice.
  double score_error(std::int64_t row) const {
    const double most =
        shape.scale() * norm(q.pristine() + row * shape.d) * key_norms_[row / shape.n_q];
    return most * (rounding_of_sum(shape.d) + 4 * kFp32Unit);
  }

  double norm(const T* x) const {
    double sum = 0;
    for (int c = 0; c < shape.d; ++c) sum += to_double(x[c]) * to_double(x[c]);
    return std::sqrt(sum);
  }

  // Of each head: the largest norm of a row, or the largest size of an element.
  std::vector<double> largest_per_head(const bench::GuardedArray<T>& array, bool of_rows) const {
    std::vector<double> largest(shape.all_heads(), 0.0);
#pragma omp parallel for schedule(static)
    for (std::int64_t head = 0; head < shape.all_heads(); ++head) {
      const T* from = array.pristine() + head * shape.n_k * shape.d;
      for (std::int64_t j = 0; j < shape.n_k; ++j) {
        if (of_rows) {
          largest[head] = std::max(largest[head], norm(from + j * shape.d));
          continue;
        }
        for (int c = 0; c < shape.d; ++c) {
          largest[head] = std::max(largest[head], std::fabs(to_double(from[j * shape.d + c])));
        }
      }
    }
    return largest;
  }

  static double error_of(const std::vector<double>& x, const std::vector<double>& exact) {
    double error = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (x[i] != exact[i]) error = std::max(error, std::fabs(x[i] - exact[i]));
    }
    return error;
  }

  // What rounding the largest output to T may cost, all else being exact.
  double last_rounding() const {
    double largest = 0;
    for (const double x : expected.o) largest = std::max(largest, std::fabs(x));
    return largest > 0 ? Element<T>::kUnit * std::exp2(std::floor(std::log2(largest))) : 0;
  }

  // Compares the rows of the reference within the bounds; elements of lse count on from those of O.
  // The error reported is that of O. Of all other rows it is known only that an output is a mean of
  // values, so no larger than the largest, and that lse is finite or, where no key is visible,
  // -infinity.
  template <class Bound, class LseBound>
  bench::Comparison check(Bound bound, LseBound lse_bound) const {
    bench::Comparison all;
    const int d = shape.d;
    for (std::size_t i = 0; i < expected.rows.size(); ++i) {
      const std::int64_t row = expected.rows[i];
      all.add(compare_elements(o.fetched() + row * d, &expected.o[i * d], d, bound(row)), row * d);
      auto sum = compare_elements(lse.fetched() + row, &expected.lse[i], 1, lse_bound(row));
      sum.max_error = 0;
      all.add(sum, o.size() + row);
    }
    if (static_cast<std::int64_t>(expected.rows.size()) < shape.rows()) {
#pragma omp parallel
      {
        bench::Comparison of_thread;
#pragma omp for schedule(static)
        for (std::int64_t row = 0; row < shape.rows(); ++row) add_plausible(of_thread, row);
#pragma omp critical
        all.add(of_thread, 0);
      }
    }
    all.count = o.size() + lse.size();
    return all;
  }

  // By one thread, as there are few; otherwise as bench::compare.
  template <class U>
  static bench::Comparison compare_elements(const U* actual, const double* expected, int count,
                                            double bound) {
    bench::Comparison result;
    result.count = count;
    for (int i = 0; i < count; ++i) add_element(result, i, expected[i], actual[i], bound);
    return result;
  }

  void add_plausible(bench::Comparison& all, std::int64_t row) const {
    const bool sees_keys = shape.visible(row % shape.n_q) > 0;
    const double largest = value_sizes_[row / shape.n_q] * kRounded;
    const double limit = sees_keys ? largest : 0;
    const T* from = o.fetched() + row * shape.d;
    for (int c = 0; c < shape.d; ++c) {
      if (std::fabs(to_double(from[c])) <= limit) continue;
      const double zero = 0;
      bench::Comparison one = compare_elements(from + c, &zero, 1, limit);
      one.max_error = 0;  // nobody knows it
      all.add(one, row * shape.d + c);
    }
    const float x = lse.fetched()[row];
    if (sees_keys ? std::isfinite(x) : x == -HUGE_VALF) return;
    const double none = sees_keys ? 0.0 : -HUGE_VAL;
    all.add(compare_elements(&x, &none, 1, 0.0), o.size() + row);
  }

  std::vector<double> key_norms_, value_sizes_;  // one per head
  double eager_error_ = 0, eager_lse_error_ = 0, eager_bound_ = 0;
  Inputs inputs_;
};

using Fp32 = Problem<float>;
using Bf16 = Problem<__nv_bfloat16>;
using Fp16 = Problem<__half>;

// A rung on the device: run(shape, tensors, stream).
template <class T, class Run>
bench::Variant<Problem<T>> attention_rung(const std::string& name, const std::string& idea, Run run,
                                          const bench::Needs& needs = {}) {
  return bench::device_variant<Problem<T>>(
      name, idea,
      [run](Problem<T>& p, cudaStream_t stream) { run(p.shape, p.device_data(), stream); }, needs);
}

}  // namespace attention
