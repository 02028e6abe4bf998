// The problem: the softmax of each row of a matrix, y = exp(x) / sum over the row of exp(x).
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "common/bench/compare.hpp"
#include "common/bench/guarded_array.cuh"
#include "common/bench/memory_need.hpp"
#include "common/bench/report.hpp"
#include "common/kit/random.cuh"

namespace softmax {

// A dense row-major matrix of floats; all finite. At most kMostColumns columns.
struct Softmax {
  static constexpr const char* name = "softmax";
  static constexpr std::int64_t kMostColumns = 1 << 30;

  std::int64_t rows, columns;
  bench::GuardedArray<float> x, y;

  // spread: inputs are uniform in [-spread, spread).
  Softmax(std::int64_t rows, std::int64_t columns, std::uint64_t seed, double spread = 4)
      : rows(rows),
        columns(columns),
        x("x", bench::Role::input, rows * columns),
        y("y", bench::Role::output, rows * columns),
        largest_(rows),
        sums_(rows) {
    float* to = x.pristine();
    const std::int64_t count = x.size();
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < count; ++i) {
      to[i] = static_cast<float>(spread) * kit::random_float(seed, i);
    }
    compute_reference();
  }

  // For inputs of one's own: fill x.pristine(), then call this. The reference of an element is
  // worked out when it is compared; kept are, in double precision, the largest element of each row
  // and the sum of exp(x - largest).
  void compute_reference() {
#pragma omp parallel for schedule(static) if (has_many_rows())
    for (std::int64_t row = 0; row < rows; ++row) {
      const float* from = x.pristine() + row * columns;
      double largest = -HUGE_VAL, sum = 0;
#pragma omp parallel for schedule(static) reduction(max : largest) if (!has_many_rows())
      for (std::int64_t i = 0; i < columns; ++i) largest = std::max<double>(largest, from[i]);
#pragma omp parallel for schedule(static) reduction(+ : sum) if (!has_many_rows())
      for (std::int64_t i = 0; i < columns; ++i) sum += std::exp(from[i] - largest);
      largest_[row] = largest;
      sums_[row] = sum;
    }
  }

  double expected(std::int64_t row, std::int64_t column) const {
    return std::exp(x.pristine()[row * columns + column] - largest_[row]) / sums_[row];
  }

  template <class Visit>
  void each_array(Visit visit) {
    visit(x);
    visit(y);
  }

  // The most an element of value y may be off, u = 2^-24. Relative to y:
  // - the fast exponential __expf(z), z = x - largest, errs by 4 u + 2 |z| u: the product of z and
  //   log2(e) is rounded (CUDA C++ Programming Guide, "Intrinsic functions"); z itself by |z| u;
  // - the sum of n such exponentials, of which the terms near the largest count, errs by as much,
  //   and by the roundings of the additions: n u at most, 9.22 sqrt(n) u if they have random signs
  //   (Hoeffding's inequality; passed with a probability of 2 exp(-42));
  // - an online rung rescales its sum, by one more exponential each time: the 16 u.
  double bound(double y, double z) const {
    const double n = static_cast<double>(columns);
    const double sum = std::min(n, 9.22 * std::sqrt(n)) + 16;
    return y * kUnit * (8 + 3 * std::fabs(z) + 3 * std::log(n + 1) + sum) + 1e-38;
  }

  bench::Comparison check() const {
    std::vector<bench::Comparison> of_row(rows);
#pragma omp parallel for schedule(static) if (has_many_rows())
    for (std::int64_t row = 0; row < rows; ++row) of_row[row] = check_row(row);

    bench::Comparison all;
    for (std::int64_t row = 0; row < rows; ++row) all.add(of_row[row], row * columns);
    return all;
  }

  // Whether exp(x) leaves the range of float, without anything being subtracted: e^88.7 is its end.
  bool overflows() const {
    return *std::max_element(largest_.begin(), largest_.end()) > 88 - std::log(double(columns));
  }

  bench::Sizes sizes() const { return {{"rows", rows}, {"columns", columns}}; }
  double elements() const { return static_cast<double>(rows) * static_cast<double>(columns); }
  double bytes() const { return 2.0 * sizeof(float) * elements(); }
  double flops() const { return 0; }

  // Host: x twice, y, and what is known of each row and, while it is compared, of each element of
  // a row. Device: x and y.
  static bench::MemoryNeed memory(std::int64_t rows, std::int64_t columns) {
    const double array = sizeof(float) * static_cast<double>(rows) * static_cast<double>(columns);
    const double row = 2 * sizeof(double) + sizeof(bench::Comparison);
    return {3 * array + row * rows + sizeof(double) * static_cast<double>(columns), 2 * array};
  }

 private:
  static constexpr double kUnit = 1.0 / (1 << 24);

  // Then threads share the rows; otherwise, each row.
  bool has_many_rows() const { return rows >= 64; }

  bench::Comparison check_row(std::int64_t row) const {
    std::vector<double> wanted(columns);
#pragma omp parallel for schedule(static) if (!has_many_rows())
    for (std::int64_t i = 0; i < columns; ++i) wanted[i] = expected(row, i);
    const float* from = x.pristine() + row * columns;
    return bench::compare(y.fetched() + row * columns, wanted.data(), columns, [&](std::int64_t i) {
      return bound(wanted[i], from[i] - largest_[row]);
    });
  }

  std::vector<double> largest_, sums_;
};

// A rung on the host: run(x, y, rows, columns); one on the device: the same with a stream.
template <class Run>
auto on_host(Run run) {
  return [run](Softmax& p) { run(p.x.host_data(), p.y.host_data(), p.rows, p.columns); };
}
template <class Run>
auto on_device(Run run) {
  return [run](Softmax& p, cudaStream_t stream) {
    return run(p.x.device_data(), p.y.device_data(), p.rows, p.columns, stream);
  };
}

}  // namespace softmax
