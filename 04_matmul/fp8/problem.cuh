// The problem: C = A B' with A and B in fp8, sums in fp32 and C in bf16, for any m, n and k. Rows
// are filled up with zeros to a multiple of 16 elements. The way to scale, and the type of A, make
// problems of their own.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp8.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "04_matmul/fp8/product.cuh"
#include "04_matmul/kit/scaling.cuh"
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

namespace matmul::fp8 {

// The largest number of a type.
template <class Element>
constexpr float kLargest = std::is_same_v<Element, __nv_fp8_e4m3> ? 448.0f : 57344.0f;

// How the tensor cores' own sums end: moved to fp32 every 128 values of k, or kept to the end.
enum class Sums { promoted, fast };

template <Scaling kScaling, class ElementA = __nv_fp8_e4m3>
struct Fp8Gemm {
  using Element = __nv_fp8_e4m3;
  using InputA = ElementA;
  static constexpr Scaling scaling = kScaling;
  static constexpr bool kIsE5M2 = std::is_same_v<ElementA, __nv_fp8_e5m2>;
  static constexpr const char* name = kIsE5M2                       ? "fp8_gemm_e5m2"
                                      : kScaling == Scaling::tensor ? "fp8_gemm"
                                      : kScaling == Scaling::rows   ? "fp8_gemm_rows"
                                                                    : "fp8_gemm_blocks";

  std::int64_t asked_k;
  Shape shape;  // with the zeros that fill rows up
  ScaleLayout layout;
  bench::GuardedArray<ElementA> a;
  bench::GuardedArray<Element> b;
  bench::GuardedArray<float> scales_a, scales_b;
  bench::GuardedArray<__nv_bfloat16> c;
  kit::HostBuffer<double> reference;         // of the inputs as rounded to fp8
  std::vector<double> a_norms, b_norms;      // of A's and B's rows, with their scales
  std::vector<double> a_largest, b_largest;  // elements of A's and B's rows, with their scales

  // is_real_gpu: false where kernels run on the CPU; then one launch makes a sample.
  Fp8Gemm(Shape asked, std::uint64_t seed, bool is_real_gpu = true)
      : asked_k(asked.k),
        shape{asked.m, asked.n, filled_up(asked.k)},
        layout{kScaling, shape.m, shape.n, shape.k},
        a("A", bench::Role::input, shape.m * shape.k),
        b("B", bench::Role::input, shape.n * shape.k),
        scales_a("A's scales", bench::Role::input, layout.count_a()),
        scales_b("B's scales", bench::Role::input, layout.count_b()),
        c("C", bench::Role::output, shape.m * shape.n),
        launches_(is_real_gpu ? launches_per_sample(shape) : 1) {
    const kit::HostBuffer<double> real_a = quantize(
        a, scales_a, shape.m, 2 * seed, [this](auto i, auto p) { return layout.index_a(i, p); });
    const kit::HostBuffer<double> real_b =
        quantize(b, scales_b, shape.n, 2 * seed + 1,
                 [this](auto j, auto p) { return layout.index_b(j, p); });
    a_norms = row_norms(real_a.data(), shape.m, shape.k);
    b_norms = row_norms(real_b.data(), shape.n, shape.k);
    a_largest = row_maxima(real_a.data(), shape.m);
    b_largest = row_maxima(real_b.data(), shape.n);
    kit::HostBuffer<double> columns(shape.k * shape.n);
#pragma omp parallel for schedule(static)
    for (std::int64_t p = 0; p < shape.k; ++p) {
      for (std::int64_t j = 0; j < shape.n; ++j) {
        columns.data()[p * shape.n + j] = real_b.data()[j * shape.k + p];
      }
    }
    reference = kit::HostBuffer<double>(shape.m * shape.n);
    multiply_in_double(real_a.data(), columns.data(), reference.data(), shape.m, shape.n, shape.k);
  }

  Product<ElementA> host_product() {
    return {a.host_data(),
            b.host_data(),
            scales_a.host_data(),
            scales_b.host_data(),
            c.host_data(),
            static_cast<int>(shape.m),
            static_cast<int>(shape.n),
            static_cast<int>(shape.k)};
  }
  // With the inputs of the set that rotate() chose.
  Product<ElementA> device_product() {
    return {sets_a_.device_data(0, a), sets_b_.device_data(0, b), scales_a.device_data(),
            scales_b.device_data(),    c.device_data(),           static_cast<int>(shape.m),
            static_cast<int>(shape.n), static_cast<int>(shape.k)};
  }

  template <class Visit>
  void each_array(Visit visit) {
    visit(a);
    visit(b);
    visit(scales_a);
    visit(scales_b);
    visit(c);
  }

  // The most that a sum may be off before it is rounded to bf16. The tensor core of Hopper aligns
  // the products of one instruction and the sum so far to the largest of them and keeps 13 bits
  // behind its leading one, chopped (MMA-Sim, arXiv 2511.10909): each addend loses less than
  // u = 2^-13 of the largest. With r, the root mean square of a product, the largest is about
  // sqrt(s) r, where s is the length of a sum, or the largest product. Losses are spread evenly
  // below their bound, so their root mean square is that bound over sqrt(12); their signs are
  // random, and L standard deviations are allowed, with the L of sgemm's bound. What the sum itself
  // loses in every instruction has its sign: with promoted sums that is random from block to block,
  // else it adds up.
  double sum_bound(std::int64_t row, std::int64_t column, Sums sums) const {
    const double u = std::ldexp(1.0, -13), k = static_cast<double>(shape.k);
    const double length = sums == Sums::fast ? k : std::min<double>(k, kScaleBlock);
    const double r = a_norms[row] * b_norms[column] / k;
    const double largest = a_largest[row] * b_largest[column] + std::sqrt(length) * r;
    const double instructions = std::ceil(k / 32);
    const double of_sums =
        sums == Sums::fast
            ? instructions * u * (std::fabs(expected(row, column)) + 2 * std::sqrt(k) * r)
            : kDeviations * 2 * u * std::sqrt(k) * r;
    return kDeviations / std::sqrt(12.0) * std::sqrt(k) * u * largest + of_sums;
  }
  double bound(std::int64_t row, std::int64_t column, Sums sums) const {
    const double before = sum_bound(row, column, sums);
    return before + half_ulp_of_bf16(std::fabs(expected(row, column)) + before);
  }

  bench::Comparison check() const { return check(Sums::promoted); }
  bench::Comparison check(Sums sums) const {
    return bench::compare(c.fetched(), reference.data(), c.size(), [this, sums](std::int64_t i) {
      return bound(i / shape.n, i % shape.n, sums);
    });
  }

  bench::Sizes sizes() const { return {{"m", shape.m}, {"n", shape.n}, {"k", asked_k}}; }
  double bytes() const {
    return 1.0 * shape.m * shape.k + 1.0 * shape.n * shape.k + 2.0 * shape.m * shape.n +
           4.0 * (layout.count_a() + layout.count_b());
  }
  double flops() const { return Shape{shape.m, shape.n, asked_k}.flops(); }
  int batch() const { return launches_; }
  void rotate(int k) {
    sets_a_.rotate(k, {&a});
    sets_b_.rotate(k, {&b});
  }
  double peak_gflops(const bench::DeviceFacts& device) const {
    return device.compute_capability() >= 89 ? 2 * peak_bf16_gflops(device) : 0;
  }

  static bench::MemoryNeed memory(Shape shape) {
    shape.k = filled_up(shape.k);
    const double a_and_b = 1.0 * shape.m * shape.k + 1.0 * shape.n * shape.k;
    const double c = 1.0 * shape.m * shape.n;
    return {2 * a_and_b + 4 * c + 8 * (a_and_b + 1.0 * shape.n * shape.k + c),
            1.1 * a_and_b + 2 * c + 2 * bench::InputSets<Element, 1>::kBytes};
  }

 private:
  static constexpr double kDeviations = 9.2;

  double expected(std::int64_t row, std::int64_t column) const {
    return reference.data()[row * shape.n + column];
  }

  // Element (i, p) before it is rounded. Where there are many scales, those that share number
  // `scale` of them have a size of their own, so that no scale is right in another one's place.
  float number(std::uint64_t seed, std::int64_t i, std::int64_t p, std::int64_t scale) const {
    if (p >= asked_k) return 0.0f;
    const float x = kit::random_float(seed, i * shape.k + p);
    return kScaling == Scaling::tensor ? x : x * (1.5f + 0.5f * kit::random_float(~seed, scale));
  }

  // Fills `to` and `scales` with random numbers, rounded with the largest element of those that
  // share a scale at the largest number of the type; returns what these are again. index: of the
  // scale of (row, k).
  template <class To, class Index>
  kit::HostBuffer<double> quantize(bench::GuardedArray<To>& to, bench::GuardedArray<float>& scales,
                                   std::int64_t rows, std::uint64_t seed, Index index) {
    kit::HostBuffer<double> real(rows * shape.k);
    float* const scale = scales.pristine();
    std::fill(scale, scale + scales.size(), 0.0f);
    // 128 rows at a time: no two threads meet at a scale but that of all, which is found
    // afterwards.
    std::vector<float> largest(rows, 0.0f);
#pragma omp parallel for schedule(static)
    for (std::int64_t first = 0; first < rows; first += kScaleBlock) {
      for (std::int64_t i = first; i < std::min(rows, first + kScaleBlock); ++i) {
        for (std::int64_t p = 0; p < shape.k; ++p) {
          const float size = std::fabs(number(seed, i, p, index(i, p)));
          largest[i] = std::max(largest[i], size);
          if (kScaling != Scaling::tensor) {
            scale[index(i, p)] = std::max(scale[index(i, p)], size);
          }
        }
      }
    }
    if (kScaling == Scaling::tensor) *scale = *std::max_element(largest.begin(), largest.end());
    for (std::int64_t i = 0; i < scales.size(); ++i) scale[i] /= kLargest<To>;
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t p = 0; p < shape.k; ++p) {
        const float s = scale[index(i, p)];
        const To q(number(seed, i, p, index(i, p)) / s);
        to.pristine()[i * shape.k + p] = q;
        real.data()[i * shape.k + p] = static_cast<double>(static_cast<float>(q)) * s;
      }
    }
    return real;
  }
  std::vector<double> row_maxima(const double* x, std::int64_t rows) const {
    std::vector<double> maxima(rows, 0.0);
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t p = 0; p < shape.k; ++p) {
        maxima[i] = std::max(maxima[i], std::fabs(x[i * shape.k + p]));
      }
    }
    return maxima;
  }

  static int launches_per_sample(Shape shape) {
    const double launches = 20 * std::pow(8192.0, 3) / (1.0 * shape.m * shape.n * shape.k);
    return static_cast<int>(std::clamp(launches, 10.0, 400.0));
  }

  bench::InputSets<ElementA, 1> sets_a_;
  bench::InputSets<Element, 1> sets_b_;
  int launches_;
};

// A rung on the device: void run(product, stream).
template <class Problem, class Run>
bench::Variant<Problem> rung(const std::string& name, const std::string& idea, Run run,
                             bench::Needs needs, Sums sums = Sums::promoted) {
  auto variant = bench::device_variant<Problem>(
      name, idea, [run](Problem& p, cudaStream_t stream) { run(p.device_product(), stream); },
      needs);
  if (sums == Sums::fast) variant.check = [](const Problem& p) { return p.check(Sums::fast); };
  return variant;
}

}  // namespace matmul::fp8
