// What results of decoding and of prefill are compared with: O and the log-sum-exp in double
// precision, of all rows or of a sample of them, and how far an element may be off.
//
// With u = 2^-24, the rounding of one fp32 operation:
// - a score is a sum of d products, none of its partial sums above scale |q| |k|: it is off by
//   scale |q| |k| (r(d) + 4 u), where r(n) = min(n, 9.22 sqrt(n)) u is what n roundings add up to
//   (Hoeffding's inequality with random signs: not once in a lifetime more);
// - so a weight is off by the factor expm1 of twice that (its own score, and the largest), and by
//   4 u for the exponential; sums of n weights and of n weighted values by r(n) more, and by 16 u
//   where parts of them are merged;
// - tensor cores take weights rounded to 16 bits: each term is then off by kUnit, with random
//   signs: 9.22 kUnit sqrt(sum of squares) together, or the plain sum if that is less. A weight
//   is computed against the largest one of its part, so what fp16 loses at its lower end, kTiny, it
//   loses of at most 1.
// In the end the element is rounded to T.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "07_flash_attention/element.hpp"
#include "07_flash_attention/known_rows.hpp"
#include "common/bench/compare.hpp"
#include "common/bench/guarded_array.cuh"

namespace attention {

struct BoundedReference {
  KnownRows o;
  std::vector<double> lse, lse_bound;  // of the same rows

  BoundedReference() = default;
  BoundedReference(std::vector<std::int64_t> known, int d)
      : o(std::move(known), d), lse(o.rows.size()), lse_bound(o.rows.size()) {}

  // Sets what is known of o.rows[i]. Host pointers. q: its d elements. It sees the keys
  // first .. end - 1; row_of(key) says which row of K and V, d elements each, is that of a key.
  template <class T, class RowOf>
  void compute(std::int64_t i, int d, const T* q, const T* k, const T* v, int first, int end,
               RowOf row_of) {
    const double scale = 1 / std::sqrt(static_cast<double>(d));
    const auto dot = [&](const T* x, const T* y) {
      double sum = 0;
      for (int c = 0; c < d; ++c) sum += to_double(x[c]) * to_double(y[c]);
      return sum;
    };
    const auto norm = [&](const T* x) { return std::sqrt(dot(x, x)); };

    std::vector<double> p(end - first);
    double largest = -HUGE_VAL, largest_norm = 0, sum = 0;
    for (int j = first; j < end; ++j) {
      const T* key = k + row_of(j) * d;
      p[j - first] = scale * dot(q, key);
      largest = std::max(largest, p[j - first]);
      largest_norm = std::max(largest_norm, norm(key));
    }
    for (double& x : p) sum += x = std::exp(x - largest);

    // Of element c: its value, the sizes of its terms and their squares, and of its factors.
    std::vector<double> value(d), size(d), squares(d), factors(d);
    for (int j = first; j < end; ++j) {
      const T* values = v + row_of(j) * d;
      for (int c = 0; c < d; ++c) {
        const double factor = to_double(values[c]), term = p[j - first] / sum * factor;
        value[c] += term;
        size[c] += std::fabs(term);
        squares[c] += term * term;
        factors[c] += std::fabs(factor);
      }
    }

    const double n = end - first;
    const double of_score =
        scale * norm(q) * largest_norm * (rounding_of_sum(static_cast<double>(d)) + 4 * kFp32Unit);
    const double of_sum = rounding_of_sum(n) + 16 * kFp32Unit;
    const double relative = 2 * (std::expm1(2 * of_score) + 4 * kFp32Unit + of_sum);
    for (int c = 0; c < d; ++c) {
      const double rounded =
          std::min(size[c], kDeviations * std::sqrt(squares[c])) * Element<T>::kUnit;
      const double off = relative * size[c] + rounded + Element<T>::kTiny * factors[c];
      o.value[i * d + c] = value[c];
      o.bound[i * d + c] =
          off + Element<T>::kUnit * (std::fabs(value[c]) + off) + Element<T>::kTiny;
    }
    lse[i] = n > 0 ? largest + std::log(sum) : -HUGE_VAL;
    lse_bound[i] = std::expm1(2 * of_score) + of_sum +
                   8 * kFp32Unit * (1 + std::log(1 + n) + (n > 0 ? std::fabs(lse[i]) : 0.0));
  }

  // Compares what a variant left. lse_at(row): where the log-sum-exp of a row lies. Elements count
  // on from O to the log-sum-exp; the error reported is that of O. nan_allows_any: what has NaN as
  // reference may be anything.
  template <class T, class LseAt>
  bench::Comparison compare(const bench::GuardedArray<T>& left_o,
                            const bench::GuardedArray<float>& left_lse, int d, LseAt lse_at,
                            bool nan_allows_any = false) const {
    bench::Comparison all = o.compare(left_o, d, nan_allows_any), sums;
    sums.count = left_lse.size();
    for (std::size_t i = 0; i < lse.size(); ++i) {
      if (nan_allows_any && std::isnan(lse[i])) continue;
      const std::int64_t at = lse_at(o.rows[i]);
      add_element(sums, at, lse[i], left_lse.fetched()[at], lse_bound[i]);
    }
    sums.max_error = 0;
    all.add(sums, left_o.size());
    return all;
  }
};

}  // namespace attention
