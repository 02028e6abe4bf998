// What every result is compared with: attention in double precision, for all rows or for a sample
// of them, and for bf16 and fp16 beside it what the plain way of computing in that type would give.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "07_flash_attention/element.hpp"
#include "07_flash_attention/sampled_rows.hpp"
#include "07_flash_attention/shape.hpp"

namespace attention {

struct Reference {
  std::vector<std::int64_t> rows;  // of all batch * heads * n_q, ascending: those that are known
  std::vector<double> o, lse;      // rows.size() x d, rows.size()
  std::vector<double> eager_o;     // 16 bits only: scores and weights rounded to the type
  std::vector<double> eager_lse;
};

// Rows that may be computed with so many operations.
inline std::int64_t affordable_rows(const Shape& shape, double most_flops) {
  const double per_row = attention::flops(shape) / static_cast<double>(shape.rows());
  return static_cast<std::int64_t>(std::min(1e9, most_flops / (per_row + 1)));
}

// All rows if that takes no more than `most_flops`, else as many as it allows: the first and the
// last row of the first and the last head, and random ones.
inline std::vector<std::int64_t> rows_to_check(const Shape& shape, double most_flops) {
  const std::int64_t all = shape.rows(), affordable = affordable_rows(shape, most_flops);
  return sampled_rows(all, static_cast<double>(affordable),
                      {0, shape.n_q - 1, all - shape.n_q, all - 1});
}

// The most bytes that a Reference takes: of each row its number, d values and the log-sum-exp, in
// 16 bits twice. With few keys and many rows that is more than the inputs.
template <class T>
double reference_bytes(const Shape& shape, double most_flops) {
  const double rows = std::min<double>(shape.rows(), affordable_rows(shape, most_flops) + 4);
  const int results = std::is_same_v<T, float> ? 1 : 2;
  return sizeof(double) * rows * (results * (shape.d + 1) + 2);
}

// A few rows of one head: the first `count` of `rows`, at most kRows.
template <class T>
class ReferenceRows {
 public:
  static constexpr int kRows = 8;  // share each key and value that is loaded

  ReferenceRows(const Shape& shape, const std::int64_t* rows, int count)
      : shape_(shape), rows_(rows), count_(count), head_(rows[0] / shape.n_q) {
    // The last of the rows sees the most keys.
    keys_ = shape.visible(rows[count - 1] % shape.n_q);
    scores_.resize(kRows * keys_);
  }

  void compute(const T* q, const T* k, const T* v, Reference& to, std::int64_t at) {
    multiply_qk(q, k);
    const T* values = v + head_ * shape_.n_k * shape_.d;
    std::vector<double> p(kRows * keys_), o(kRows * shape_.d);
    for (int r = 0; r < count_; ++r) to.lse[at + r] = softmax_of(r, p, false);
    multiply_pv(values, p, o);
    std::copy_n(o.begin(), count_ * shape_.d, to.o.begin() + at * shape_.d);
    if constexpr (!std::is_same_v<T, float>) {
      for (int r = 0; r < count_; ++r) to.eager_lse[at + r] = softmax_of(r, p, true);
      multiply_pv(values, p, o);
      std::transform(o.begin(), o.begin() + count_ * shape_.d, to.eager_o.begin() + at * shape_.d,
                     rounded_to<T>);
    }
  }

 private:
  std::int64_t visible(int r) const { return shape_.visible(rows_[r] % shape_.n_q); }

  // scores = scale Q K^T
  void multiply_qk(const T* q, const T* k) {
    const int d = shape_.d;
    std::vector<double> transposed(d * kRows), key(d);
    for (int r = 0; r < kRows; ++r) {
      const T* row = q + rows_[std::min(r, count_ - 1)] * d;
      for (int c = 0; c < d; ++c) transposed[c * kRows + r] = to_double(row[c]);
    }
    const double scale = 1.0 / std::sqrt(static_cast<double>(d));
    for (std::int64_t j = 0; j < keys_; ++j) {
      const T* row = k + (head_ * shape_.n_k + j) * d;
      for (int c = 0; c < d; ++c) key[c] = to_double(row[c]);
      double sum[kRows] = {};
      for (int c = 0; c < d; ++c) {
        for (int r = 0; r < kRows; ++r) sum[r] += transposed[c * kRows + r] * key[c];
      }
      for (int r = 0; r < kRows; ++r) scores_[r * keys_ + j] = scale * sum[r];
    }
  }

  // p = the weights of row r, which sum to 1; returns the log-sum-exp. With eager, scores and
  // weights are rounded as they are when both go through memory as T.
  double softmax_of(int r, std::vector<double>& p, bool eager) const {
    const std::int64_t keys = visible(r);
    const double* s = &scores_[r * keys_];
    double* to = &p[r * keys_];
    std::fill(to, to + keys_, 0.0);
    double largest = -HUGE_VAL, sum = 0;
    for (std::int64_t j = 0; j < keys; ++j) {
      to[j] = eager ? rounded_to<T>(s[j]) : s[j];
      largest = std::max(largest, to[j]);
    }
    for (std::int64_t j = 0; j < keys; ++j) sum += to[j] = std::exp(to[j] - largest);
    for (std::int64_t j = 0; j < keys; ++j) {
      to[j] /= sum;
      if (eager) to[j] = rounded_to<T>(to[j]);
    }
    return keys > 0 ? largest + std::log(sum) : -HUGE_VAL;
  }

  // o = P V
  void multiply_pv(const T* v, const std::vector<double>& p, std::vector<double>& o) const {
    const int d = shape_.d;
    std::vector<double> value(d);
    std::fill(o.begin(), o.end(), 0.0);
    for (std::int64_t j = 0; j < keys_; ++j) {
      for (int c = 0; c < d; ++c) value[c] = to_double(v[j * d + c]);
      for (int r = 0; r < count_; ++r) {
        const double weight = p[r * keys_ + j];
        for (int c = 0; c < d; ++c) o[r * d + c] += weight * value[c];
      }
    }
  }

  const Shape& shape_;
  const std::int64_t* rows_;
  int count_;
  std::int64_t head_, keys_;
  std::vector<double> scores_;  // kRows x keys_
};

// Host pointers. Double precision throughout; uses all cores.
template <class T>
Reference reference_of(const Shape& shape, const T* q, const T* k, const T* v, double most_flops) {
  Reference reference;
  reference.rows = rows_to_check(shape, most_flops);
  const auto count = static_cast<std::int64_t>(reference.rows.size());
  reference.o.resize(count * shape.d);
  reference.lse.resize(count);
  if constexpr (!std::is_same_v<T, float>) {
    reference.eager_o.resize(count * shape.d);
    reference.eager_lse.resize(count);
  }
  // Parts of up to kRows rows of one head.
  std::vector<std::int64_t> begins = {0};
  for (std::int64_t i = 1; i < count; ++i) {
    const bool same_head = reference.rows[i] / shape.n_q == reference.rows[i - 1] / shape.n_q;
    if (!same_head || i - begins.back() == ReferenceRows<T>::kRows) begins.push_back(i);
  }
  const auto parts = static_cast<std::int64_t>(begins.size());
  begins.push_back(count);
#pragma omp parallel for schedule(dynamic)
  for (std::int64_t part = 0; part < parts; ++part) {
    const int size = static_cast<int>(begins[part + 1] - begins[part]);
    ReferenceRows<T>(shape, &reference.rows[begins[part]], size)
        .compute(q, k, v, reference, begins[part]);
  }
  return reference;
}

}  // namespace attention
