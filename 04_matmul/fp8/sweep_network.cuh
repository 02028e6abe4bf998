// --sweep network: what a small network learns when its products are in bf16, and in fp8.
//
// Two layers learn to answer as a teacher does, a smaller network, from random inputs, each batch a
// new one. In some runs one input is many times as large as the others, and its weights are as much
// smaller: if products were exact, that would change nothing.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp8.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "04_matmul/kit/scaling.cuh"
#include "04_matmul/reference.hpp"
#include "04_matmul/study/sweeps.cuh"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/report.hpp"
#include "common/bench/settings.hpp"
#include "common/bench/variant.cuh"
#include "common/kit/random.cuh"

namespace matmul::fp8 {

// What the operands of a product are rounded to: bf16, or E4M3 by what shares a scale.
enum class Rounding { bf16, tensor, rows, blocks };

// Row-major. What is rounded nowhere is kept in double: every machine finds the same losses.
struct Matrix {
  std::int64_t rows, cols;
  std::vector<double> x = std::vector<double>(rows * cols);
};

// Uniform, with mean 0.
inline Matrix random_matrix(std::int64_t rows, std::int64_t cols, std::uint64_t seed,
                            double variance) {
  Matrix matrix{rows, cols};
  kit::fill_random(matrix.x.data(), rows * cols, seed);
  for (double& x : matrix.x) x *= std::sqrt(3 * variance);
  return matrix;
}

inline Matrix transposed(const Matrix& from) {
  Matrix to{from.cols, from.rows};
  for (std::int64_t i = 0; i < from.rows; ++i) {
    for (std::int64_t j = 0; j < from.cols; ++j) to.x[j * to.cols + i] = from.x[i * from.cols + j];
  }
  return to;
}

inline void round_to_bf16(Matrix& matrix) {
  for (double& x : matrix.x) x = static_cast<float>(__float2bfloat16(static_cast<float>(x)));
}

// To E4M3 and back; `rows` x `cols` elements share a scale.
inline void round_to_e4m3(Matrix& matrix, std::int64_t rows, std::int64_t cols) {
  const auto each_of = [&](std::int64_t top, std::int64_t left, auto visit) {
    for (std::int64_t i = top; i < std::min(top + rows, matrix.rows); ++i) {
      for (std::int64_t j = left; j < std::min(left + cols, matrix.cols); ++j) {
        visit(matrix.x[i * matrix.cols + j]);
      }
    }
  };
  for (std::int64_t top = 0; top < matrix.rows; top += rows) {
    for (std::int64_t left = 0; left < matrix.cols; left += cols) {
      double largest = 0;
      each_of(top, left, [&](double x) { largest = std::max(largest, std::fabs(x)); });
      const double scale = largest > 0 ? largest / 448 : 1;
      each_of(top, left, [&](double& x) {
        x = static_cast<float>(__nv_fp8_e4m3(static_cast<float>(x / scale))) * scale;
      });
    }
  }
}

// A B in bf16, of operands that are rounded first. Scales of rows belong to rows of A and columns
// of B, those of blocks to 1 x 128 of A and 128 x 128 of B.
inline Matrix product(Matrix a, Matrix b, Rounding rounding) {
  const std::int64_t m = a.rows, n = b.cols, k = a.cols;
  if (rounding == Rounding::bf16) round_to_bf16(a), round_to_bf16(b);
  if (rounding == Rounding::tensor) round_to_e4m3(a, m, k), round_to_e4m3(b, k, n);
  if (rounding == Rounding::rows) round_to_e4m3(a, 1, k), round_to_e4m3(b, k, 1);
  if (rounding == Rounding::blocks) {
    round_to_e4m3(a, 1, kScaleBlock), round_to_e4m3(b, kScaleBlock, kScaleBlock);
  }
  Matrix c{m, n};
  multiply_in_double(a.x.data(), b.x.data(), c.x.data(), m, n, k);
  round_to_bf16(c);
  return c;
}

// Weights that follow their gradient by Adam (Kingma and Ba, arXiv 1412.6980): the length of a step
// does not depend on the size of the gradient.
struct Weights {
  Matrix w;
  std::vector<double> mean = std::vector<double>(w.x.size()), square = mean;
  double mean_left = 1, square_left = 1;  // of the zeros that these begin with

  void learn(const Matrix& gradient, double rate) {
    mean_left *= 0.9, square_left *= 0.99;
    rate *= std::sqrt(1 - square_left) / (1 - mean_left);
    for (std::size_t i = 0; i < w.x.size(); ++i) {
      const double g = gradient.x[i];
      mean[i] += 0.1 * (g - mean[i]), square[i] += 0.01 * (g * g - square[i]);
      w.x[i] -= rate * mean[i] / (std::sqrt(square[i]) + 1e-12);
    }
  }
};

constexpr int kSteps = 300, kMeanSteps = kSteps / 10;

// The loss of each step: the squares of what answers are off, over those of the teacher's answers.
// larger: how many times as large as the others one input is.
inline std::vector<double> losses(Rounding rounding, double larger) {
  constexpr std::int64_t kBatch = 32, kInputs = 256, kHidden = 32, kOutputs = 16, kTeacher = 4;
  constexpr std::int64_t kLarge = 5;  // the input that is larger
  const auto multiply_large = [](Matrix& inputs_by_row, double factor) {
    double* const row = &inputs_by_row.x[kLarge * inputs_by_row.cols];
    for (std::int64_t j = 0; j < inputs_by_row.cols; ++j) row[j] *= factor;
  };
  const auto relu = [](Matrix& h) {
    for (double& x : h.x) x = std::max(x, 0.0);
  };
  const Matrix teacher_first = random_matrix(kInputs, kTeacher, 1, 1.0 / kInputs);
  const Matrix teacher_second = random_matrix(kTeacher, kOutputs, 2, 1.0 / kTeacher);
  Weights first{random_matrix(kInputs, kHidden, 3, 2.0 / kInputs)};
  Weights second{random_matrix(kHidden, kOutputs, 4, 1.0 / kHidden)};

  std::vector<double> losses;
  for (int step = 0; step < kSteps; ++step) {
    Matrix x_t = random_matrix(kInputs, kBatch, 5 + step, 1);
    Matrix teacher_h = product(transposed(x_t), teacher_first, Rounding::bf16);
    relu(teacher_h);
    const Matrix right = product(teacher_h, teacher_second, Rounding::bf16);

    // Forward.
    Matrix w = first.w;
    multiply_large(x_t, larger), multiply_large(w, 1 / larger);
    Matrix h = product(transposed(x_t), w, rounding);
    relu(h);
    Matrix error = product(h, second.w, rounding);
    for (std::size_t i = 0; i < error.x.size(); ++i) error.x[i] -= right.x[i];
    const auto squares = [](const Matrix& of) {
      return std::inner_product(of.x.begin(), of.x.end(), of.x.begin(), 0.0);
    };
    losses.push_back(squares(error) / squares(right));

    // Backward: the gradients of the weights.
    const Matrix of_second = product(transposed(h), error, rounding);
    Matrix of_h = product(error, transposed(second.w), rounding);
    for (std::size_t i = 0; i < h.x.size(); ++i) of_h.x[i] *= h.x[i] > 0;
    Matrix of_first = product(x_t, of_h, rounding);
    multiply_large(of_first, 1 / larger);
    const double rate = 0.02 * (1 - static_cast<double>(step) / kSteps);
    first.learn(of_first, rate), second.learn(of_second, rate);
  }
  return losses;
}

// The mean loss of the kMeanSteps steps that end with `step`.
inline double mean_loss(const std::vector<double>& losses, int step) {
  const auto end = losses.begin() + step;
  return std::accumulate(end - kMeanSteps, end, 0.0) / kMeanSteps;
}

// For each size of the larger input: the loss by how products are rounded, at the end, and where
// all inputs are alike on the way, too.
template <class Problem>
bench::Shown sweep_network(const bench::RunSettings&, const bench::Settings& settings,
                           const std::vector<bench::Variant<Problem>>&) {
  refuse_sizes(settings);
  bench::Sweep sweep{
      Problem::name, "network", {"larger", "step", "bf16", "tensor", "rows", "blocks"}, {}};
  constexpr double kLarger[] = {1, 1e4, 1e5, 1e6};
  constexpr int kRuns = 16;
  std::vector<double> runs[kRuns];
#pragma omp parallel for schedule(dynamic)
  for (int i = 0; i < kRuns; ++i) runs[i] = losses(static_cast<Rounding>(i % 4), kLarger[i / 4]);
  for (int i = 0; i < kRuns; i += 4) {
    for (const int step : {kSteps / 5, 2 * kSteps / 5, kSteps}) {
      if (i > 0 && step < kSteps) continue;
      std::vector<double> point = {kLarger[i / 4], static_cast<double>(step)};
      for (int r = 0; r < 4; ++r) point.push_back(mean_loss(runs[i + r], step));
      sweep.points.push_back(point);
    }
  }
  return {sweep};
}

}  // namespace matmul::fp8
