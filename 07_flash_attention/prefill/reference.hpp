// What every result is compared with: O and the log-sum-exp in double precision, of all rows or of
// a sample of them, and how far an element may be off: the bounds are those of decoding
// (decode/reference.hpp says why).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "07_flash_attention/element.hpp"
#include "07_flash_attention/prefill/shape.hpp"
#include "common/kit/random.cuh"

namespace prefill {

using attention::Element, attention::to_double;
using attention::kDeviations, attention::kFp32Unit, attention::rounding_of_sum;

struct Reference {
  std::vector<std::int64_t> rows;      // token x heads + head, ascending: those that are known
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

// Host pointers; uses all cores.
template <class T>
class ReferenceRows {
 public:
  ReferenceRows(const Shape& shape, const Tensors<T>& t, const Starts& starts)
      : shape_(shape),
        t_(t),
        starts_(starts),
        scale_(1 / std::sqrt(static_cast<double>(shape.d))) {}

  // affordable: as many rows, about.
  Reference compute(double affordable) const {
    Reference known;
    known.rows = rows_to_check(shape_.rows(), affordable);
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
    const std::int64_t row = known.rows[i], d = shape_.d;
    const int token = static_cast<int>(row / shape_.heads), head = row % shape_.heads;
    // The last sequence that begins at the token or before: those before it there are empty.
    const int* after = std::upper_bound(starts_.q, starts_.q + shape_.batch + 1, token);
    const Sequence sequence = starts_.sequence(static_cast<int>(after - starts_.q) - 1);
    const KeyRange keys = shape_.visibility(sequence).keys(token - sequence.first_q);
    const auto row_of_key = [&](int key) {
      return (std::int64_t{sequence.first_k + key} * shape_.kv_heads + head / shape_.group()) * d;
    };

    const T* q = t_.q + row * d;
    std::vector<double> p(keys.end - keys.begin);
    double largest = -HUGE_VAL, largest_norm = 0, sum = 0;
    for (int j = keys.begin; j < keys.end; ++j) {
      const T* k = t_.k + row_of_key(j);
      p[j - keys.begin] = scale_ * dot(q, k);
      largest = std::max(largest, p[j - keys.begin]);
      largest_norm = std::max(largest_norm, norm(k));
    }
    for (double& x : p) sum += x = std::exp(x - largest);

    // Of element c: its value, the sizes of its terms and their squares, and of its factors.
    std::vector<double> value(d), size(d), squares(d), factors(d);
    for (int j = keys.begin; j < keys.end; ++j) {
      const T* v = t_.v + row_of_key(j);
      for (int c = 0; c < d; ++c) {
        const double factor = to_double(v[c]), term = p[j - keys.begin] / sum * factor;
        value[c] += term;
        size[c] += std::fabs(term);
        squares[c] += term * term;
        factors[c] += std::fabs(factor);
      }
    }

    const double n = keys.end - keys.begin;
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
  const Starts starts_;
  const double scale_;
};

}  // namespace prefill
