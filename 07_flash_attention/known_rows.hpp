// What is known of some rows of a result, and what is wrong with a result that is compared with
// them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "07_flash_attention/element.hpp"
#include "common/bench/compare.hpp"
#include "common/bench/guarded_array.cuh"

namespace attention {

// Adds element `at` to a comparison: its error, and whether that is above the bound.
template <class T>
void add_element(bench::Comparison& to, std::int64_t at, double expected, const T& actual,
                 double bound) {
  const double x = to_double(actual);
  const double error = x == expected ? 0.0 : std::fabs(x - expected);  // equal infinities are right
  // A NaN stays, whatever comes after it.
  if (!std::isnan(to.max_error) && !(error <= to.max_error)) to.max_error = error;
  if (error <= bound) return;  // written so that a NaN fails
  if (to.wrong++ == 0 || at < to.first_wrong) {
    to.first_wrong = at;
    to.expected = expected;
    to.actual = x;
  }
  if (bench::is_poison(actual)) ++to.unwritten;
}

struct KnownRows {
  std::vector<std::int64_t> rows;    // ascending
  std::vector<double> value, bound;  // rows.size() x d

  KnownRows() = default;
  KnownRows(std::vector<std::int64_t> known, int d)
      : rows(std::move(known)), value(rows.size() * d), bound(rows.size() * d) {}

  // Compares an array of rows with d elements each. Of a row that is not known it is only known
  // that it is finite. nan_allows_any: what has NaN as value may be anything.
  template <class T>
  bench::Comparison compare(const bench::GuardedArray<T>& array, int d,
                            bool nan_allows_any = false) const {
    bench::Comparison all;
    all.count = array.size();
    const T* data = array.fetched();
    const auto known = static_cast<std::int64_t>(value.size());
    for (std::int64_t i = 0; i < known; ++i) {
      if (nan_allows_any && std::isnan(value[i])) continue;
      const std::int64_t at = rows[i / d] * d + i % d;
      add_element(all, at, value[i], data[at], bound[i]);
    }
    if (known == array.size()) return all;
    bench::Comparison unknown;
#pragma omp parallel
    {
      bench::Comparison of_thread;
#pragma omp for schedule(static)
      for (std::int64_t row = 0; row < array.size() / d; ++row) {
        if (std::binary_search(rows.begin(), rows.end(), row)) continue;
        for (std::int64_t at = row * d; at < (row + 1) * d; ++at) {
          if (!std::isfinite(to_double(data[at]))) add_element(of_thread, at, 0, data[at], 0);
        }
      }
#pragma omp critical
      unknown.add(of_thread, 0);
    }
    unknown.max_error = 0;  // nobody knows it
    all.add(unknown, 0);
    return all;
  }
};

}  // namespace attention
