// The problem: x in bf16 becomes q in E4M3 and scales in fp32, as an operand of a product in fp8.
//
// A scale is the largest size of the elements that share it, over 448. q is x over its scale,
// rounded to nearest even. The way to scale makes a problem of its own.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp8.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "04_matmul/kit/scaling.cuh"
#include "04_matmul/quantize/kit/operand.hpp"
#include "common/bench/compare.hpp"
#include "common/bench/guarded_array.cuh"
#include "common/bench/memory_need.hpp"
#include "common/bench/report.hpp"
#include "common/kit/host_buffer.hpp"
#include "common/kit/random.cuh"

namespace matmul::quantize {

// Root mean square of what rounding has changed, over that of x: of all, and of the row where it is
// largest.
struct RoundingError {
  double of_all = 0, of_worst_row = 0;
};

template <Scaling kScaling>
struct Quantize {
  static constexpr Scaling scaling = kScaling;
  static constexpr const char* name = kScaling == Scaling::tensor ? "quantize_tensor"
                                      : kScaling == Scaling::rows ? "quantize_rows"
                                                                  : "quantize_blocks";
  std::int64_t m, asked_k;
  std::int64_t k;  // with the zeros that fill a row up to a multiple of 16
  ScaleLayout layout;
  bench::GuardedArray<__nv_bfloat16> x;
  bench::GuardedArray<__nv_fp8_e4m3> q;
  bench::GuardedArray<float> scales;

  Quantize(std::int64_t m, std::int64_t asked_k, std::uint64_t seed)
      : m(m),
        asked_k(asked_k),
        k(filled_up(asked_k)),
        layout{kScaling, m, 0, k},
        x("x", bench::Role::input, m * k),
        q("q", bench::Role::output, m * k),
        scales("scales", bench::Role::output, layout.count_a()) {
    // Like what flows through a network: rows (tokens) differ in size, by up to 2^12, and one
    // column (channel) of 64 is 16 times as large as the others.
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < m; ++i) {
      const int exponent = static_cast<int>(kit::random_bits(seed + 1, i) % 13) - 6;
      for (std::int64_t p = 0; p < k; ++p) {
        const float number = p < asked_k ? kit::random_float(seed, i * k + p) : 0.0f;
        x.pristine()[i * k + p] =
            __float2bfloat16(std::ldexp(number, exponent + (p % 64 == 5 ? 4 : 0)));
      }
    }
  }

  Operand host_operand() { return {x.host_data(), q.host_data(), scales.host_data(), m, k}; }
  Operand device_operand() {
    return {x.device_data(), q.device_data(), scales.device_data(), m, k};
  }

  template <class Visit>
  void each_array(Visit visit) {
    visit(x);
    visit(q);
    visit(scales);
  }

  // Scales first: a wrong one makes all of its elements wrong, too. The padding of scales of blocks
  // may be anything.
  bench::Comparison check() const {
    const std::vector<double> wanted = expected_scales();
    std::vector<float> got;
    std::vector<double> expected;
    for (std::int64_t s = 0; s < scales.size(); ++s) {
      if (wanted[s] == 0) continue;
      got.push_back(scales.fetched()[s]);
      expected.push_back(wanted[s]);
    }
    const auto of_scales =
        bench::compare(got.data(), expected.data(), static_cast<std::int64_t>(got.size()),
                       [&](std::int64_t s) { return std::ldexp(expected[s], -22); });
    if (!of_scales.right()) return of_scales;

    const kit::HostBuffer<float> real = dequantized();
    return bench::compare(real.data(), x.pristine(), x.size(), [this](std::int64_t at) {
      const double scale = scales.fetched()[layout.index_a(at / k, at % k)];
      const double size = std::fabs(static_cast<double>(x.pristine()[at]));
      return half_step(size / scale) * scale + std::ldexp(size, -20);
    });
  }

  // Of what was fetched last.
  RoundingError rounding_error() const {
    const kit::HostBuffer<float> real = dequantized();
    double lost = 0, all = 0, worst = 0;
#pragma omp parallel for schedule(static) reduction(+ : lost, all) reduction(max : worst)
    for (std::int64_t i = 0; i < m; ++i) {
      double lost_of_row = 0, of_row = 0;
      for (std::int64_t at = i * k; at < (i + 1) * k; ++at) {
        const double exact = static_cast<double>(x.pristine()[at]), error = real[at] - exact;
        lost_of_row += error * error;
        of_row += exact * exact;
      }
      lost += lost_of_row;
      all += of_row;
      if (of_row > 0) worst = std::max(worst, lost_of_row / of_row);
    }
    return {all > 0 ? std::sqrt(lost / all) : 0, std::sqrt(worst)};
  }

  bench::Sizes sizes() const { return {{"m", m}, {"k", asked_k}}; }
  // x in, q and the scales out, each once.
  double bytes() const {
    const double of_scales = kScaling == Scaling::tensor ? 1.0
                             : kScaling == Scaling::rows ? m
                                                         : 1.0 * m * pieces();
    return (sizeof(__nv_bfloat16) + sizeof(__nv_fp8_e4m3)) * 1.0 * m * k +
           sizeof(float) * of_scales;
  }
  double flops() const { return 0; }

  // x pristine and working, q, and what it stands for; x and q.
  static bench::MemoryNeed memory(std::int64_t m, std::int64_t k) {
    const double elements = 1.0 * m * filled_up(k);
    return {9.2 * elements, 3.1 * elements};
  }

 private:
  std::int64_t pieces() const { return (k + kScaleBlock - 1) / kScaleBlock; }

  // Half the distance of E4M3's numbers near `size`: four significant bits, down to 2^-9.
  static double half_step(double size) {
    const int exponent = size > 0 ? std::max(std::ilogb(size), -6) : -6;
    return std::ldexp(1.0, exponent - 4);
  }

  // 0 where no element has this scale.
  std::vector<double> expected_scales() const {
    std::vector<float> of_pieces(m * pieces(), 0.0f);
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t p = 0; p < k; ++p) {
        float& largest = of_pieces[i * pieces() + p / kScaleBlock];
        largest = std::max(largest, std::fabs(static_cast<float>(x.pristine()[i * k + p])));
      }
    }
    std::vector<double> expected(scales.size(), 0.0);
    for (std::int64_t piece = 0; piece < m * pieces(); ++piece) {
      const double scale = std::max(of_pieces[piece] / 448.0, 0x1p-126);
      double& of_all = expected[layout.index_a(piece / pieces(), piece % pieces() * kScaleBlock)];
      of_all = std::max(of_all, scale);
    }
    return expected;
  }

  // q times its scales. What nobody wrote stays poison.
  kit::HostBuffer<float> dequantized() const {
    kit::HostBuffer<float> real(q.size());
#pragma omp parallel for schedule(static)
    for (std::int64_t at = 0; at < q.size(); ++at) {
      const __nv_fp8_e4m3 byte = q.fetched()[at];
      real[at] = static_cast<float>(byte) * scales.fetched()[layout.index_a(at / k, at % k)];
      if (bench::is_poison(byte)) std::memset(&real[at], bench::kPoisonByte, sizeof(float));
    }
    return real;
  }
};

}  // namespace matmul::quantize
