// What every result is compared with: the gradients in double precision, of all rows or of a sample
// of them, and how far an element may be off.
//
// The gradients are functions of seven inputs: Q, K, V, dO, and O and the log-sum-exp as forward
// rounded them. So a bound covers the rounding of the backward pass alone. With u = 2^-24, the
// rounding of one fp32 operation, for one pair of a query and a key:
// - a score is a sum of d products, none of its partial sums above scale |q| |k|: it is off by
//   scale |q| |k| (r(d) + 4 u), where r(n) = min(n, 9.22 sqrt(n)) u is what n roundings add up to
//   (Hoeffding's inequality with random signs: not once in a lifetime more). The conversion of the
//   log-sum-exp to base 2 adds 4 u |lse|;
// - so P is off by the factor expm1 of that, and 4 u for the exponential;
// - dP - D is off by |dO| (|v| + |o|) (r(d) + 4 u); dS = P (dP - D) by both.
// An element of a gradient is a sum over n pairs: it inherits what its terms are off by, and
// (r(n) + 8 u) times the sum of their sizes. Tensor cores take P and dS rounded to 16 bits: each
// term is then off by kUnit more, with random signs: 9.22 kUnit sqrt(sum of squares) together, or
// the plain sum if that is less; small ones by kTiny instead. In the end the element is rounded to
// T.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "07_flash_attention/backward/shape.hpp"
#include "07_flash_attention/element.hpp"
#include "07_flash_attention/known_rows.hpp"
#include "07_flash_attention/sampled_rows.hpp"

namespace backward {

using attention::Element, attention::KnownRows, attention::to_double;
using attention::kDeviations, attention::kFp32Unit, attention::rounding_of_sum;

struct Reference {
  KnownRows dq, dk, dv;  // dk and dv know the same rows
};

// All of `heads` x n rows if that is no more than `affordable`, else as many: the first and the
// last row of the first and the last head, and random ones.
inline std::vector<std::int64_t> rows_to_check(std::int64_t heads, int n, double affordable) {
  const std::int64_t all = heads * n;
  return attention::sampled_rows(all, affordable, {0, n - 1, all - n, all - 1});
}

// Inputs on the host.
template <class T>
class ReferenceRows {
 public:
  ReferenceRows(const Shape& shape, const Tensors<T>& t)
      : shape_(shape),
        t_(t),
        scale_(1 / std::sqrt(static_cast<double>(shape.d))),
        queries_(shape.rows()),
        keys_(shape.keys()) {
    const std::int64_t d = shape.d, rows = shape.rows(), keys = shape.keys();
#pragma omp parallel for schedule(static)
    for (std::int64_t row = 0; row < rows; ++row) {
      const T *d_o = t.d_o + row * d, *o = t.o + row * d;
      queries_[row] = {norm(t.q + row * d), norm(d_o), norm(o), dot(d_o, o)};
    }
#pragma omp parallel for schedule(static)
    for (std::int64_t key = 0; key < keys; ++key) {
      keys_[key] = {norm(t.k + key * d), norm(t.v + key * d)};
    }
  }

  // `row` of dQ: d values and bounds.
  void query(std::int64_t row, double* value, double* bound) const {
    const std::int64_t first_key = row / shape_.n_q / shape_.group() * shape_.n_k;
    const int visible = shape_.visible(static_cast<int>(row % shape_.n_q));
    std::vector<Sum> sums(shape_.d);
    for (int j = 0; j < visible; ++j) {
      const Pair pair = pair_of(row, first_key + j);
      add(sums, scale_ * pair.ds, scale_ * pair.ds_error, t_.k + (first_key + j) * shape_.d);
    }
    finish(sums, visible, scale_, value, bound);
  }

  // Row `key` of dK and dV.
  void key(std::int64_t key, double* dk, double* dk_bound, double* dv, double* dv_bound) const {
    const std::int64_t first_head = key / shape_.n_k * shape_.group();
    const int first_row = shape_.first_row(static_cast<int>(key % shape_.n_k));
    std::vector<Sum> sums_k(shape_.d), sums_v(shape_.d);
    for (std::int64_t head = first_head; head < first_head + shape_.group(); ++head) {
      for (int i = first_row; i < shape_.n_q; ++i) {
        const std::int64_t row = head * shape_.n_q + i;
        const Pair pair = pair_of(row, key);
        add(sums_k, scale_ * pair.ds, scale_ * pair.ds_error, t_.q + row * shape_.d);
        add(sums_v, pair.p, pair.p_error, t_.d_o + row * shape_.d);
      }
    }
    const double terms = static_cast<double>(shape_.group()) * std::max(0, shape_.n_q - first_row);
    finish(sums_k, terms, scale_, dk, dk_bound);
    finish(sums_v, terms, 1, dv, dv_bound);
  }

 private:
  static constexpr bool kIs16Bit = !std::is_same_v<T, float>;
  static constexpr double kOperandUnit = kIs16Bit ? Element<T>::kUnit : 0;
  static constexpr double kOperandTiny = kIs16Bit ? Element<T>::kTiny : 0;

  struct Query {  // what a query has in common with all keys
    double q_norm, d_o_norm, o_norm, delta;
  };
  struct Key {
    double k_norm, v_norm;
  };
  struct Pair {
    double p, p_error, ds, ds_error;
  };
  struct Sum {  // of terms x = weight factor
    double value = 0, error = 0, size = 0, squares = 0, factors = 0;
  };

  double dot(const T* x, const T* y) const {
    double sum = 0;
    for (int c = 0; c < shape_.d; ++c) sum += to_double(x[c]) * to_double(y[c]);
    return sum;
  }
  double norm(const T* x) const { return std::sqrt(dot(x, x)); }

  Pair pair_of(std::int64_t row, std::int64_t key) const {
    const Query& query = queries_[row];
    const std::int64_t d = shape_.d;
    const double lse = t_.lse[row], of_dot = rounding_of_sum(shape_.d) + 4 * kFp32Unit;
    const double score_error =
        scale_ * query.q_norm * keys_[key].k_norm * of_dot + 4 * kFp32Unit * std::fabs(lse);
    const double p = std::exp(scale_ * dot(t_.q + row * d, t_.k + key * d) - lse);
    const double relative = std::expm1(score_error) + 4 * kFp32Unit;
    const double difference = dot(t_.d_o + row * d, t_.v + key * d) - query.delta;
    const double difference_error = query.d_o_norm * (keys_[key].v_norm + query.o_norm) * of_dot;
    return {p, p * relative, p * difference,
            p * (relative * std::fabs(difference) + (1 + relative) * difference_error)};
  }

  void add(std::vector<Sum>& sums, double weight, double weight_error, const T* factors) const {
    for (int c = 0; c < shape_.d; ++c) {
      const double factor = to_double(factors[c]), x = weight * factor;
      sums[c].value += x;
      sums[c].error += weight_error * std::fabs(factor);
      sums[c].size += std::fabs(x);
      sums[c].squares += x * x;
      sums[c].factors += std::fabs(factor);
    }
  }

  // scale: what weights are multiplied by after they were rounded.
  void finish(const std::vector<Sum>& sums, double terms, double scale, double* value,
              double* bound) const {
    for (int c = 0; c < shape_.d; ++c) {
      const Sum& sum = sums[c];
      value[c] = sum.value;
      const double rounded =
          std::min(sum.size, kDeviations * std::sqrt(sum.squares)) * kOperandUnit;
      const double off = sum.error + (rounding_of_sum(terms) + 8 * kFp32Unit) * sum.size + rounded +
                         scale * kOperandTiny * sum.factors;
      bound[c] = off + Element<T>::kUnit * (std::fabs(sum.value) + off) + Element<T>::kTiny;
    }
  }

  const Shape shape_;
  const Tensors<T> t_;
  const double scale_;
  std::vector<Query> queries_;  // of all heads
  std::vector<Key> keys_;
};

// Rows of dQ, and of dK and dV, whose pairs of query and key may be looked at.
struct Affordable {
  double queries, keys;
};
inline Affordable affordable_rows(const Shape& shape, double most_pairs) {
  return {most_pairs / 2 / shape.n_k, most_pairs / 2 / shape.n_q / shape.group()};
}

// The most bytes that a Reference takes: of each row its number, d values and d bounds.
inline double reference_bytes(const Shape& shape, double most_pairs) {
  const Affordable rows = affordable_rows(shape, most_pairs);
  const double queries = std::min<double>(shape.rows(), rows.queries + 4);
  const double keys = std::min<double>(shape.keys(), rows.keys + 4);
  return sizeof(double) * (queries + 2 * keys) * (2 * shape.d + 2);
}

// Host pointers; uses all cores. most_pairs: pairs of query and key that may be looked at.
template <class T>
Reference reference_of(const Shape& shape, const Tensors<T>& t, double most_pairs) {
  Reference reference;
  const Affordable affordable = affordable_rows(shape, most_pairs);
  reference.dq = {rows_to_check(shape.all_heads(), shape.n_q, affordable.queries), shape.d};
  const auto keys = rows_to_check(shape.all_kv_heads(), shape.n_k, affordable.keys);
  reference.dk = reference.dv = {keys, shape.d};
  const ReferenceRows<T> rows(shape, t);
  const auto of_queries = static_cast<std::int64_t>(reference.dq.rows.size());
#pragma omp parallel for schedule(dynamic)
  for (std::int64_t i = 0; i < of_queries; ++i) {
    KnownRows& dq = reference.dq;
    rows.query(dq.rows[i], &dq.value[i * shape.d], &dq.bound[i * shape.d]);
  }
  const auto of_keys = static_cast<std::int64_t>(keys.size());
#pragma omp parallel for schedule(dynamic)
  for (std::int64_t i = 0; i < of_keys; ++i) {
    const std::int64_t at = i * shape.d;
    rows.key(keys[i], &reference.dk.value[at], &reference.dk.bound[at], &reference.dv.value[at],
             &reference.dv.bound[at]);
  }
  return reference;
}

}  // namespace backward
