// The problem: C = A B with elements in bf16 and sums in fp32, for any m, n, k. A is m x k and C is
// m x n, dense and row-major. B comes in two layouts, each a problem of its own: k x n, row-major,
// and n x k, row-major, which is B transposed (the weights of a linear layer lie like that).
#pragma once

#include <cuda_bf16.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
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

namespace matmul::bf16 {

using Element = __nv_bfloat16;

// What C is compared with. Both layouts of B share one: it takes long to compute.
struct Bf16Reference {
  kit::HostBuffer<double> c;             // of the inputs as rounded to bf16
  std::vector<double> a_norms, b_norms;  // of A's rows and B's columns
};

template <bool kTransposedB>
struct Bf16Gemm {
  static constexpr const char* name = kTransposedB ? "bf16_gemm_nt" : "bf16_gemm";
  static constexpr int kElementBytes = sizeof(Element);
  using Inputs = bench::InputSets<Element, 2>;

  Shape shape;
  bench::GuardedArray<Element> a, b, c;
  std::shared_ptr<const Bf16Reference> reference;

  // is_real_gpu: false where kernels run on the CPU; then one launch makes a sample. `known`:
  // the reference of a problem with the same shape and seed.
  Bf16Gemm(Shape shape, std::uint64_t seed, bool is_real_gpu = true,
           std::shared_ptr<const Bf16Reference> known = nullptr)
      : shape(shape),
        a("A", bench::Role::input, shape.m * shape.k),
        b("B", bench::Role::input, shape.k * shape.n),
        c("C", bench::Role::output, shape.m * shape.n),
        reference(std::move(known)),
        launches_(is_real_gpu ? launches_per_sample(shape) : 1) {
    kit::fill_random(a.pristine(), a.size(), 2 * seed);
#pragma omp parallel for schedule(static)
    for (std::int64_t p = 0; p < shape.k; ++p) {
      for (std::int64_t j = 0; j < shape.n; ++j) {
        b.pristine()[index_b(p, j)] =
            static_cast<Element>(kit::random_float(2 * seed + 1, p * shape.n + j));
      }
    }
    if (reference == nullptr) reference = multiply();
  }

  // Where element (p, j) of B is.
  std::int64_t index_b(std::int64_t p, std::int64_t j) const {
    return kTransposedB ? j * shape.k + p : p * shape.n + j;
  }

  // The inputs on the device, of the set that rotate() chose.
  const Element* device_a() { return sets_.device_data(0, a); }
  const Element* device_b() { return sets_.device_data(1, b); }

  template <class Visit>
  void each_array(Visit visit) {
    visit(a);
    visit(b);
    visit(c);
  }

  // The most that the sum in fp32 may be off before it is rounded to bf16. Products of two bf16 are
  // exact in fp32. A tensor core adds at least 8 of them to the sum at once and chops instead of
  // rounding: every addend loses less than u = 2^-23 of the largest one, and so does the result
  // (Fasi, Higham, Mikaitis, Pranesh, "Numerical behavior of NVIDIA tensor cores", PeerJ Computer
  // Science 7 (2021)). Adding one by one with rounding, as a CPU does, is more accurate. The
  // smaller of two bounds, with the names of the bound of sgemm:
  // - No luck needed: fewer than 2 k such losses, each of at most u sum|a b|, and
  //   sum|a b| <= |row of A| |column of B|.
  // - Random signs: addends and partial sums stay below L s. What the products lose has their
  //   signs, and these losses add up to at most L sqrt(k) u L s. What the sum itself loses has the
  //   sum's sign, which seldom changes: k / 8 times u L s.
  double sum_bound(std::int64_t row, std::int64_t column) const {
    const double u = std::ldexp(1.0, -23), k = static_cast<double>(shape.k);
    const double a_norm = reference->a_norms[row], b_norm = reference->b_norms[column];
    const double certain = 2 * k * u * a_norm * b_norm;
    const double likely =
        u * std::min(a_norm, b_norm) *
        (kSquaredDeviations * std::sqrt(k) + std::sqrt(kSquaredDeviations) * k / 8);
    return std::min(certain, likely);
  }

  // The most an element of C may be off: rounding to bf16 once adds half the distance between two
  // neighbouring bf16 there.
  double bound(std::int64_t row, std::int64_t column) const {
    const double before = sum_bound(row, column);
    return before +
           half_ulp_of_bf16(std::fabs(reference->c.data()[row * shape.n + column]) + before);
  }

  bench::Comparison check() const {
    return bench::compare(c.fetched(), reference->c.data(), c.size(),
                          [this](std::int64_t i) { return bound(i / shape.n, i % shape.n); });
  }

  bench::Sizes sizes() const { return {{"m", shape.m}, {"n", shape.n}, {"k", shape.k}}; }
  double bytes() const { return shape.bytes(kElementBytes); }
  double flops() const { return shape.flops(); }

  // Enough launches that starting the first and stopping the last do not count.
  int batch() const { return launches_; }

  void rotate(int k) { sets_.rotate(k, {&a, &b}); }

  double peak_gflops(const bench::DeviceFacts& device) const { return peak_bf16_gflops(device); }

  // Host: A, B, C twice, A and B in fp32 for a while, the reference in double; device: A, B, C and
  // the other sets.
  static bench::MemoryNeed memory(Shape shape) {
    const double matrices = 2 * shape.bytes(kElementBytes);
    return {matrices + shape.bytes() + 8.0 * shape.m * shape.n, matrices + Inputs::kBytes};
  }

 private:
  static constexpr double kSquaredDeviations = 85;  // L^2 of sum_bound()

  std::shared_ptr<const Bf16Reference> multiply() const {
    kit::HostBuffer<float> x(a.size()), y(b.size());
    std::copy(a.pristine(), a.pristine() + a.size(), x.data());
#pragma omp parallel for schedule(static)
    for (std::int64_t p = 0; p < shape.k; ++p) {
      for (std::int64_t j = 0; j < shape.n; ++j) {
        y.data()[p * shape.n + j] = b.pristine()[index_b(p, j)];
      }
    }
    auto result = std::make_shared<Bf16Reference>();
    result->c = kit::HostBuffer<double>(c.size());
    matmul::multiply_in_double(x.data(), y.data(), result->c.data(), shape.m, shape.n, shape.k);
    result->a_norms = matmul::row_norms(x.data(), shape.m, shape.k);
    result->b_norms = matmul::column_norms(y.data(), shape.k, shape.n);
    return result;
  }

  static int launches_per_sample(Shape shape) {
    const double launches = 20 * std::pow(8192.0, 3) / (1.0 * shape.m * shape.n * shape.k);
    return static_cast<int>(std::clamp(launches, 10.0, 400.0));
  }

  Inputs sets_;
  int launches_;
};

// A rung on the device: void run(a, b, c, m, n, k, stream).
template <bool kTransposedB, class Run>
bench::Variant<Bf16Gemm<kTransposedB>> rung(const std::string& name, const std::string& idea,
                                            Run run, bench::Needs needs) {
  using Problem = Bf16Gemm<kTransposedB>;
  return bench::device_variant<Problem>(
      name, idea,
      [run](Problem& p, cudaStream_t stream) {
        run(p.device_a(), p.device_b(), p.c.device_data(), static_cast<int>(p.shape.m),
            static_cast<int>(p.shape.n), static_cast<int>(p.shape.k), stream);
      },
      needs);
}

}  // namespace matmul::bf16
