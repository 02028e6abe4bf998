// What every result is compared with: O and the log-sum-exp in double precision, of all rows or of
// a sample of them, and how far an element may be off.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "07_flash_attention/attention_fp8/tensors.cuh"
#include "07_flash_attention/element.hpp"
#include "07_flash_attention/reference.hpp"
#include "07_flash_attention/shape.hpp"

namespace attention::fp8 {

// How the tensor cores' sums of weighted values end: moved to fp32 with every tile of keys, or kept
// to the end.
enum class Sums { promoted, fast };

struct Reference8 {
  std::vector<std::int64_t> rows;                     // of all batch * heads * n_q, ascending
  std::vector<double> o, promoted_bound, fast_bound;  // rows.size() x kHeadDim
  std::vector<double> lse, lse_bound;                 // rows.size()
};

// Q, K and V as numbers; an element stands for itself times the scale of its head.
struct Numbers {
  const std::vector<float>&q, &k, &v, &scale_q, &scale_k, &scale_v;
};

// The bounds. The tensor core of Hopper aligns the products of one instruction and the sum so far
// to the largest of them and keeps 13 bits behind its leading one, chopped (04_matmul/fp8.md): each
// addend loses less than u = 2^-13 of the largest, toward zero. L standard deviations are allowed,
// as for sums in fp32. For a row, with terms t = weight x value that add up to O:
// - a score is a sum of 128 products; what it loses is spread evenly below u of the largest product
//   or partial sum, and what that sum itself loses in 4 instructions adds up. A weight is off by
//   the factor exp of that, and a sum of n terms by L times the root of their squares;
// - a weight is rounded to E4M3, evenly within 2^-4 of itself, or within 2^-10 if it is below 2^-6,
//   where the largest one is 2^8;
// - the terms are added up like the products of a score, by 32, in tiles of 128 from zero on
//   (`promoted`) or all (`fast`), the last tile first. Where terms have one sign, so have losses;
// - sums in fp32, and O as bf16.
class ReferenceRow {
 public:
  ReferenceRow(const Shape& shape, const Numbers& x) : shape_(shape), x_(x) {}

  // Row `row` to place i.
  void compute(Reference8& to, std::int64_t row, std::int64_t i) const {
    const std::int64_t head = row / shape_.n_q, n = shape_.visible(row % shape_.n_q);
    const double scale = shape_.scale() * x_.scale_q[head] * x_.scale_k[head];
    std::vector<double> p(n);
    double max_score = -HUGE_VAL, largest = 0, sum = 0;
    for (std::int64_t j = 0; j < n; ++j) {
      const float *q = &x_.q[row * kHeadDim], *k = &x_.k[(head * shape_.n_k + j) * kHeadDim];
      double dot = 0;
      for (int c = 0; c < kHeadDim; ++c) {
        const double product = static_cast<double>(q[c]) * k[c];
        dot += product;
        largest = std::max(largest, std::fabs(product));
        if (c % 32 == 31) largest = std::max(largest, std::fabs(dot));
      }
      p[j] = scale * dot;
      max_score = std::max(max_score, p[j]);
    }
    for (double& weight : p) sum += weight = std::exp(weight - max_score);
    to.lse[i] = n > 0 ? max_score + std::log(sum) : -HUGE_VAL;

    const double of_score = (std::sqrt(kHeadDim / 12.0) + 4) * kU * scale * largest +
                            8 * kFp32Unit * (1 + std::fabs(n > 0 ? max_score : 0));
    to.lse_bound[i] = std::expm1(2 * kDeviations * of_score) + rounding_of_sum(n) +
                      8 * kFp32Unit * (2 + std::fabs(n > 0 ? to.lse[i] : 0) + std::log(1.0 + n));

    std::vector<Column> columns(kHeadDim);
    for (std::int64_t tile = (n - 1) / 128; n > 0 && tile >= 0; --tile) {
      for (std::int64_t j = tile * 128; j < std::min(n, (tile + 1) * 128); ++j) {
        const float* v = &x_.v[(head * shape_.n_k + j) * kHeadDim];
        for (int c = 0; c < kHeadDim; ++c) columns[c].add(p[j] / sum, v[c] * x_.scale_v[head]);
      }
      for (Column& column : columns) column.end_tile();
    }
    for (int c = 0; c < kHeadDim; ++c) {
      const Column& column = columns[c];
      const double of_weights =
          kDeviations * std::sqrt(column.squares) *
              (std::expm1(2 * of_score) + 0x1p-4 / std::sqrt(3.0)) +
          0x1p-18 / std::max(sum, 1.0) * column.values +
          2 * (rounding_of_sum(static_cast<double>(n)) + 16 * kFp32Unit) * column.size;
      const auto bound = [&](double of_sums) {
        const double off = of_weights + of_sums;
        return off + Element<__nv_bfloat16>::kUnit * (std::fabs(column.o) + off);
      };
      to.o[i * kHeadDim + c] = column.o;
      to.promoted_bound[i * kHeadDim + c] = bound(column.promoted.loss());
      to.fast_bound[i * kHeadDim + c] = bound(column.fast.loss());
    }
  }

 private:
  static constexpr double kU = 0x1p-13;

  // What sums lose, tile by tile: `most` is the largest that stood in the sum or came to it.
  struct Losses {
    double squares = 0, of_one_sign = 0;
    void add(double most, double signs) {
      squares += (128 + 4) / 12.0 * kU * kU * most * most;
      of_one_sign += (std::fabs(signs) + 4) * kU * most;
    }
    double loss() const { return kDeviations * std::sqrt(squares) + of_one_sign; }
  };

  // A column of O, as keys are added.
  struct Column {
    double o = 0, size = 0, squares = 0, values = 0;
    double of_tile = 0, largest = 0, signs = 0, largest_of_all = 0;
    Losses promoted, fast;

    void add(double weight, double value) {
      const double term = weight * value;
      size += std::fabs(term);
      squares += term * term;
      values += std::fabs(value);
      of_tile += term;
      largest = std::max({largest, std::fabs(term), std::fabs(of_tile)});
      signs += (term > 0) - (term < 0);
    }
    void end_tile() {
      o += of_tile;
      largest_of_all = std::max({largest_of_all, largest, std::fabs(o)});
      promoted.add(largest, signs);
      fast.add(largest_of_all, signs);
      of_tile = largest = signs = 0;
    }
  };

  const Shape& shape_;
  const Numbers x_;
};

// Of all rows, or of as many as `most_pairs` pairs of a query and a key allow. Uses all cores.
inline Reference8 reference8_of(const Shape& shape, const Numbers& x, double most_pairs) {
  Reference8 known;
  known.rows = rows_to_check(shape, most_pairs * 4 * kHeadDim);
  const auto count = static_cast<std::int64_t>(known.rows.size());
  for (auto* array : {&known.o, &known.promoted_bound, &known.fast_bound}) {
    array->resize(count * kHeadDim);
  }
  known.lse.resize(count);
  known.lse_bound.resize(count);
#pragma omp parallel for schedule(dynamic)
  for (std::int64_t i = 0; i < count; ++i) ReferenceRow(shape, x).compute(known, known.rows[i], i);
  return known;
}

}  // namespace attention::fp8
