// Problem C: the transpose of a matrix of any shape. Every element is read once and written once,
// as in a copy, but a matrix can lie in memory by rows only: one of the two sides must go across
// them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "common/bench/compare.hpp"
#include "common/bench/guarded_array.cuh"
#include "common/bench/memory_need.hpp"
#include "common/bench/report.hpp"
#include "common/bench/variant.cuh"
#include "common/kit/host_buffer.hpp"
#include "common/kit/random.cuh"

namespace transpose {

struct Transpose {
  static constexpr const char* name = "transpose";

  std::int64_t rows, cols;             // of the input; the output is cols x rows
  bench::GuardedArray<float> in, out;  // both row-major and dense
  kit::HostBuffer<float> expected;

  Transpose(std::int64_t rows, std::int64_t cols, std::uint64_t seed)
      : rows(rows),
        cols(cols),
        in("in", bench::Role::input, rows * cols),
        out("out", bench::Role::output, rows * cols),
        expected(rows * cols) {
    kit::fill_random(in.pristine(), in.size(), seed);
    // By the definition, but a strip of rows at a time, so that a cache line of the output is
    // finished while it is at hand.
    constexpr std::int64_t kStrip = 16;
    const std::int64_t strips = (rows + kStrip - 1) / kStrip;
#pragma omp parallel for schedule(static)
    for (std::int64_t s = 0; s < strips; ++s) {
      for (std::int64_t c = 0; c < cols; ++c) {
        for (std::int64_t r = s * kStrip; r < std::min(rows, (s + 1) * kStrip); ++r) {
          expected[c * rows + r] = in.pristine()[r * cols + c];
        }
      }
    }
  }

  // For the yardsticks.
  bench::GuardedArray<float>& source() { return in; }
  bench::GuardedArray<float>& destination() { return out; }
  const bench::GuardedArray<float>& source() const { return in; }
  const bench::GuardedArray<float>& destination() const { return out; }

  template <class Visit>
  void each_array(Visit visit) {
    visit(in);
    visit(out);
  }

  // Nothing is computed: every bit must arrive.
  bench::Comparison check() const {
    return bench::compare(out.fetched(), expected.data(), out.size(), 0.0);
  }

  bench::Sizes sizes() const { return {{"rows", rows}, {"cols", cols}}; }
  double bytes() const { return 2.0 * sizeof(float) * static_cast<double>(in.size()); }
  double flops() const { return 0; }

  // For the check before anything is allocated: in twice, out, expected; in and out.
  static bench::MemoryNeed memory(std::int64_t rows, std::int64_t cols) {
    return {4.0 * sizeof(float) * static_cast<double>(rows) * static_cast<double>(cols),
            2.0 * sizeof(float) * static_cast<double>(rows) * static_cast<double>(cols)};
  }
};

// A rung on the device: void run(in, out, rows, cols, stream).
template <class Run>
bench::Variant<Transpose> transpose_rung(const std::string& name, const std::string& idea,
                                         Run run) {
  return bench::device_variant<Transpose>(name, idea, [run](Transpose& p, cudaStream_t stream) {
    run(p.in.device_data(), p.out.device_data(), p.rows, p.cols, stream);
  });
}

}  // namespace transpose
