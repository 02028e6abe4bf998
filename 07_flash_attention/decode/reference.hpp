// What every result is compared with: O and the log-sum-exp in double precision, of all rows or of
// a sample of them, and how far an element may be off.
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
#include <vector>

#include "07_flash_attention/decode/shape.hpp"
#include "07_flash_attention/element.hpp"
#include "common/kit/random.cuh"

namespace decode {

using attention::Element, attention::to_double;
using attention::kDeviations, attention::kFp32Unit, attention::rounding_of_sum;

struct Reference {
  std::vector<std::int64_t> rows;      // ascending: those that are known
  std::vector<double> o, o_bound;      // rows.size() x d
  std::vector<double> lse, lse_bound;  // rows.size()
};

// All `count` rows, or as many as are affordable: the first, the last and random ones.
inline std::vector<std::int64_t> rows_to_check(std::int64_t count, double affordable) {
  std::vector<std::int64_t> rows;
  if (affordable >= static_cast<double>(count)) {
    for (std::int64_t row = 0; row < count; ++row) rows.push_back(row);
    return rows;
  }
  rows = {0, count - 1};
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(affordable); ++i) {
    rows.push_back(static_cast<std::int64_t>(kit::random_bits(17, i) % count));
  }
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

// The most bytes that a Reference takes: of each row its number, d + 1 values and as many bounds.
inline double reference_bytes(const Shape& shape, double most_pairs) {
  const double rows = std::min<double>(shape.rows(), most_pairs / shape.n + 2);
  return sizeof(double) * rows * (2 * (shape.d + 1) + 2);
}

// Host pointers; uses all cores. most_pairs: pairs of a query and a key that may be looked at.
template <class T>
class ReferenceRows {
 public:
  ReferenceRows(const Shape& shape, const Tensors<T>& t, const Cache& cache)
      : shape_(shape), t_(t), cache_(cache), scale_(1 / std::sqrt(static_cast<double>(shape.d))) {}

  Reference compute(double most_pairs) const {
    Reference known;
    known.rows = rows_to_check(shape_.rows(), most_pairs / shape_.n);
    const auto count = static_cast<std::int64_t>(known.rows.size());
    for (auto* of_elements : {&known.o, &known.o_bound}) of_elements->resize(count * shape_.d);
    for (auto* of_rows : {&known.lse, &known.lse_bound}) of_rows->resize(count);
#pragma omp parallel for schedule(dynamic)
    for (std::int64_t i = 0; i < count; ++i) compute_row(known, i);
    return known;
  }

 private:
  double dot(const T* x, const T* y) const {
    double sum = 0;
    for (int c = 0; c < shape_.d; ++c) sum += to_double(x[c]) * to_double(y[c]);
    return sum;
  }
  double norm(const T* x) const { return std::sqrt(dot(x, x)); }

  void compute_row(Reference& known, std::int64_t i) const {
    const std::int64_t row = known.rows[i], kv_head = row / shape_.group(), d = shape_.d;
    const int first = cache_.first(row / shape_.heads), end = cache_.end(row / shape_.heads);
    const T* q = t_.q + row * d;
    std::vector<double> p(end - first);
    double largest = -HUGE_VAL, largest_norm = 0, sum = 0;
    for (int j = first; j < end; ++j) {
      const T* k = t_.k + cache_.row(shape_, kv_head, j) * d;
      p[j - first] = scale_ * dot(q, k);
      largest = std::max(largest, p[j - first]);
      largest_norm = std::max(largest_norm, norm(k));
    }
    for (double& x : p) sum += x = std::exp(x - largest);

    // Of element c: its value, the sizes of its terms and their squares, and of its factors.
    std::vector<double> value(d), size(d), squares(d), factors(d);
    for (int j = first; j < end; ++j) {
      const T* v = t_.v + cache_.row(shape_, kv_head, j) * d;
      for (int c = 0; c < d; ++c) {
        const double factor = to_double(v[c]), term = p[j - first] / sum * factor;
        value[c] += term;
        size[c] += std::fabs(term);
        squares[c] += term * term;
        factors[c] += std::fabs(factor);
      }
    }

    const double n = end - first;
    const double of_score =
        scale_ * norm(q) * largest_norm * (rounding_of_sum(static_cast<double>(d)) + 4 * kFp32Unit);
    const double of_sum = rounding_of_sum(n) + 16 * kFp32Unit;
    const double relative = 2 * (std::expm1(2 * of_score) + 4 * kFp32Unit + of_sum);
    for (int c = 0; c < d; ++c) {
      const double rounded =
          std::min(size[c], kDeviations * std::sqrt(squares[c])) * Element<T>::kUnit;
      const double off = relative * size[c] + rounded + Element<T>::kTiny * factors[c];
      known.o[i * d + c] = value[c];
      known.o_bound[i * d + c] =
          off + Element<T>::kUnit * (std::fabs(value[c]) + off) + Element<T>::kTiny;
    }
    known.lse[i] = n > 0 ? largest + std::log(sum) : -HUGE_VAL;
    known.lse_bound[i] =
        std::expm1(2 * of_score) + of_sum +
        8 * kFp32Unit * (1 + std::log(1 + n) + (n > 0 ? std::fabs(known.lse[i]) : 0.0));
  }

  const Shape shape_;
  const Tensors<T> t_;
  const Cache cache_;
  const double scale_;
};

}  // namespace decode
