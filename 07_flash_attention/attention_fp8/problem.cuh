// The problem: O = softmax(Q K^T / sqrt(d)) V and the log-sum-exp of each row with Q, K and V in
// E4M3, a scale for each head, and O in bf16; d = 128, causal or not. Results are compared with
// exact attention on the numbers that the bytes stand for: what rounding Q, K and V to 8 bits
// costs is not their fault.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "07_flash_attention/attention_fp8/reference.hpp"
#include "07_flash_attention/attention_fp8/tensors.cuh"
#include "07_flash_attention/bounded_reference.hpp"
#include "07_flash_attention/element.hpp"
#include "07_flash_attention/shape.hpp"
#include "common/bench/compare.hpp"
#include "common/bench/device_facts.cuh"
#include "common/bench/guarded_array.cuh"
#include "common/bench/input_sets.cuh"
#include "common/bench/memory_need.hpp"
#include "common/bench/report.hpp"
#include "common/bench/variant.cuh"
#include "common/kit/random.cuh"

namespace attention::fp8 {

struct AttentionFp8 {
  static constexpr const char* name = "attention_fp8";
  using Inputs = bench::InputSets<E4m3, 3>;

  Shape shape;
  bool is_real_gpu;
  bench::GuardedArray<E4m3> q, k, v;
  bench::GuardedArray<float> scale_q, scale_k, scale_v;
  bench::GuardedArray<__nv_bfloat16> o;
  bench::GuardedArray<float> lse;
  Reference8 expected;

  // Elements of K are random in [-1, 1), of V in [-1 + mean, 1 + mean), of Q in [-3, 3), so that
  // scores have variance 1. is_real_gpu: false where kernels run on the CPU; then one launch makes
  // a sample.
  AttentionFp8(const Shape& shape, std::uint64_t seed, double mean = 0, bool is_real_gpu = true)
      : shape(shape),
        is_real_gpu(is_real_gpu),
        q("Q", bench::Role::input, shape.rows() * kHeadDim),
        k("K", bench::Role::input, shape.all_heads() * shape.n_k * kHeadDim),
        v("V", bench::Role::input, shape.all_heads() * shape.n_k * kHeadDim),
        scale_q("Q's scales", bench::Role::input, shape.all_heads()),
        scale_k("K's scales", bench::Role::input, shape.all_heads()),
        scale_v("V's scales", bench::Role::input, shape.all_heads()),
        o("O", bench::Role::output, shape.rows() * kHeadDim),
        lse("log-sum-exp", bench::Role::output, shape.rows()),
        real_{{3 * seed, 3, 0}, {3 * seed + 1, 1, 0}, {3 * seed + 2, 1, mean}} {
    quantize(q, scale_q, real_[0]);
    quantize(k, scale_k, real_[1]);
    quantize(v, scale_v, real_[2]);
    compute_reference();
  }

  // For inputs of one's own: fill the pristine arrays, then call this.
  void compute_reference() { expected = reference(kMostPairs, false); }

  // Of the numbers that the bytes stand for, or of those from before they were rounded.
  Reference8 reference(double most_pairs, bool is_real) const {
    const auto numbers = [is_real](const bench::GuardedArray<E4m3>& array, const Real& real) {
      std::vector<float> x(array.size());
#pragma omp parallel for schedule(static)
      for (std::int64_t i = 0; i < array.size(); ++i) {
        x[i] = is_real ? real.number(i) : static_cast<float>(array.pristine()[i]);
      }
      return x;
    };
    const auto scales = [is_real](const bench::GuardedArray<float>& array) {
      std::vector<float> x(array.pristine(), array.pristine() + array.size());
      if (is_real) std::fill(x.begin(), x.end(), 1.0f);
      return x;
    };
    return reference8_of(shape,
                         {numbers(q, real_[0]), numbers(k, real_[1]), numbers(v, real_[2]),
                          scales(scale_q), scales(scale_k), scales(scale_v)},
                         most_pairs);
  }

  Tensors8 host_data() {
    return {q.host_data(),       k.host_data(),       v.host_data(), scale_q.host_data(),
            scale_k.host_data(), scale_v.host_data(), o.host_data(), lse.host_data()};
  }
  // The inputs of the set that rotate() chose.
  Tensors8 device_data() {
    return {inputs_.device_data(0, q), inputs_.device_data(1, k), inputs_.device_data(2, v),
            scale_q.device_data(),     scale_k.device_data(),     scale_v.device_data(),
            o.device_data(),           lse.device_data()};
  }

  template <class Visit>
  void each_array(Visit visit) {
    visit(q);
    visit(k);
    visit(v);
    visit(scale_q);
    visit(scale_k);
    visit(scale_v);
    visit(o);
    visit(lse);
  }

  // Elements count on from O to the log-sum-exp; the error reported is that of O. Of rows that the
  // reference leaves out it is only known that they are finite.
  bench::Comparison check(Sums sums = Sums::promoted) const {
    BoundedReference known;
    known.o.rows = expected.rows;
    known.o.value = expected.o;
    known.o.bound = sums == Sums::fast ? expected.fast_bound : expected.promoted_bound;
    known.lse = expected.lse;
    known.lse_bound = expected.lse_bound;
    return known.compare(o, lse, kHeadDim, [](std::int64_t row) { return row; });
  }

  // The root mean square of what the known rows of O are off, over that of the exact ones.
  double relative_error() const {
    double off = 0, size = 0;
    for (std::size_t i = 0; i < expected.rows.size(); ++i) {
      const auto row = numbers_of(expected.rows[i]);
      for (int c = 0; c < kHeadDim; ++c) {
        const double exact = expected.o[i * kHeadDim + c];
        off += (row[c] - exact) * (row[c] - exact);
        size += exact * exact;
      }
    }
    return std::sqrt(off / size);
  }

  // The same of what rounding Q, K and V to bytes makes of an exact result.
  double rounding_of_inputs() const {
    const Reference8 real = reference(kMostPairs, true);
    double off = 0, size = 0;
    for (std::size_t i = 0; i < real.o.size(); ++i) {
      off += (expected.o[i] - real.o[i]) * (expected.o[i] - real.o[i]);
      size += expected.o[i] * expected.o[i];
    }
    return std::sqrt(off / size);
  }

  bench::Sizes sizes() const {
    return {{"batch", shape.batch},
            {"heads", shape.heads},
            {"n", shape.n_q},
            {"nk", shape.n_k},
            {"causal", shape.causal}};
  }
  // If every element of Q, K, V and O moves once, the log-sum-exp, and the scales.
  double bytes() const {
    const auto rows = static_cast<double>(shape.rows());
    const auto heads = static_cast<double>(shape.all_heads());
    return kHeadDim * (3 * rows + 2 * heads * static_cast<double>(shape.n_k)) + 4 * rows +
           12 * heads;
  }
  double flops() const { return attention::flops(shape); }

  // Launches per sample: some ms of work for the fast rungs.
  int batch() const {
    if (!is_real_gpu) return 1;
    return static_cast<int>(std::clamp(4e12 / flops(), 1.0, 100.0));
  }
  void rotate(int index) {
    if (is_real_gpu) inputs_.rotate(index, {&q, &k, &v});
  }
  double peak_gflops(const bench::DeviceFacts& device) const {
    return device.compute_capability() >= 89 ? 2 * peak_bf16_gflops(device) : 0;
  }

  static constexpr double kBeside = 1e8;  // on the host, whatever the shape: libraries

  static bench::MemoryNeed memory(const Shape& shape) {
    const double inputs = kHeadDim * (static_cast<double>(shape.rows()) +
                                      2.0 * static_cast<double>(shape.all_heads() * shape.n_k));
    const double outputs = (2.0 * kHeadDim + 4) * static_cast<double>(shape.rows());
    const double rows = std::min<double>(static_cast<double>(shape.rows()),
                                         kMostPairs / static_cast<double>(shape.n_k) * 2 + 5);
    return {6 * inputs + 3 * outputs + rows * 8 * (3 * kHeadDim + 3) + kBeside,
            2 * (inputs + outputs) + Inputs::kBytes};
  }

 private:
  static constexpr double kMostPairs = 1e7;  // that the reference looks at: a second or two

  // What was rounded to bytes.
  struct Real {
    std::uint64_t seed;
    double factor, mean;
    float number(std::int64_t i) const {
      return static_cast<float>(factor * (kit::random_float(seed, i) + mean));
    }
  };

  // The scale of a head makes its largest element 448, the largest number of E4M3.
  void quantize(bench::GuardedArray<E4m3>& to, bench::GuardedArray<float>& scales,
                const Real& real) const {
    const std::int64_t heads = shape.all_heads(), count = to.size() / heads;
#pragma omp parallel for schedule(static)
    for (std::int64_t head = 0; head < heads; ++head) {
      float largest = 0x1p-60f;
      for (std::int64_t i = head * count; i < (head + 1) * count; ++i) {
        largest = std::max(largest, std::fabs(real.number(i)));
      }
      scales.pristine()[head] = largest / 448;
      for (std::int64_t i = head * count; i < (head + 1) * count; ++i) {
        to.pristine()[i] = E4m3(real.number(i) / scales.pristine()[head]);
      }
    }
  }

  std::vector<double> numbers_of(std::int64_t row) const {
    std::vector<double> x(kHeadDim);
    for (int c = 0; c < kHeadDim; ++c) x[c] = to_double(o.fetched()[row * kHeadDim + c]);
    return x;
  }

  Real real_[3];
  Inputs inputs_;
};

// A rung on the device: run(shape, tensors, stream).
template <class Run>
bench::Variant<AttentionFp8> rung(const std::string& name, const std::string& idea, Run run,
                                  const bench::Needs& needs, Sums sums) {
  auto variant = bench::device_variant<AttentionFp8>(
      name, idea,
      [run](AttentionFp8& p, cudaStream_t stream) { run(p.shape, p.device_data(), stream); },
      needs);
  if (sums == Sums::fast) {
    variant.check = [](const AttentionFp8& p) { return p.check(Sums::fast); };
  }
  return variant;
}

}  // namespace attention::fp8
