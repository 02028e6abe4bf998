// O and the log-sum-exp, which a backward pass starts from: on the host, and for sizes that take
// the host minutes, on a GPU. What the gradients are judged by does not depend on how good they
// are.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "07_flash_attention/backward/shape.hpp"
#include "07_flash_attention/element.hpp"
#include "07_flash_attention/shape.hpp"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"

namespace backward {

using attention::to_double;

// One row, in double precision.
template <class T>
void forward_row(const Shape& shape, const Tensors<T>& t, std::int64_t row, T* o, float* lse) {
  const int d = shape.d, visible = shape.visible(static_cast<int>(row % shape.n_q));
  const std::int64_t first_key = row / shape.n_q / shape.group() * shape.n_k;
  const double scale = 1 / std::sqrt(static_cast<double>(d));
  std::vector<double> scores(visible), sums(d, 0.0);
  double largest = -HUGE_VAL, sum = 0;
  for (int j = 0; j < visible; ++j) {
    double score = 0;
    for (int c = 0; c < d; ++c) {
      score += to_double(t.q[row * d + c]) * to_double(t.k[(first_key + j) * d + c]);
    }
    scores[j] = scale * score;
    largest = std::max(largest, scores[j]);
  }
  for (int j = 0; j < visible; ++j) {
    const double weight = std::exp(scores[j] - largest);
    sum += weight;
    for (int c = 0; c < d; ++c) sums[c] += weight * to_double(t.v[(first_key + j) * d + c]);
  }
  for (int c = 0; c < d; ++c) o[c] = T(static_cast<float>(visible > 0 ? sums[c] / sum : 0));
  *lse = static_cast<float>(visible > 0 ? largest + std::log(sum) : -HUGE_VAL);
}

constexpr int kForwardThreads = 256;

// A warp a query; a lane has every 32nd element.
template <class T, int kD>
__global__ void __launch_bounds__(kForwardThreads)
    forward_kernel(Tensors<T> t, T* o, float* lse, Shape shape) {
  const std::int64_t row = (std::int64_t{blockIdx.x} * kForwardThreads + threadIdx.x) / 32;
  const int lane = threadIdx.x % 32;
  if (row >= shape.rows()) return;
  const std::int64_t first_key = row / shape.n_q / shape.group() * shape.n_k;
  const int visible = shape.visible(static_cast<int>(row % shape.n_q));
  float q[kD / 32], sums[kD / 32] = {}, largest = -INFINITY, sum = 0;
  for (int i = 0; i < kD / 32; ++i) q[i] = static_cast<float>(t.q[row * kD + lane + 32 * i]);
  for (int j = 0; j < visible; ++j) {
    const std::int64_t at = (first_key + j) * kD + lane;
    float score = 0;
    for (int i = 0; i < kD / 32; ++i) score += q[i] * static_cast<float>(t.k[at + 32 * i]);
    for (int step = 16; step > 0; step /= 2) score += __shfl_xor_sync(0xffffffff, score, step);
    score *= shape.scale();
    // Only a new largest score changes the scale of what was added up.
    const float shrink = score > largest ? expf(largest - score) : 1.0f;
    largest = fmaxf(largest, score);
    const float weight = expf(score - largest);
    sum = sum * shrink + weight;
    for (int i = 0; i < kD / 32; ++i) {
      sums[i] = sums[i] * shrink + weight * static_cast<float>(t.v[at + 32 * i]);
    }
  }
  for (int i = 0; i < kD / 32; ++i) {
    o[row * kD + lane + 32 * i] = T(visible > 0 ? sums[i] / sum : 0.0f);
  }
  if (lane == 0) lse[row] = visible > 0 ? largest + logf(sum) : -INFINITY;
}

// Host pointers; uses all cores.
template <class T>
void forward_on_host(const Shape& shape, const Tensors<T>& t, T* o, float* lse) {
#pragma omp parallel for schedule(dynamic, 8)
  for (std::int64_t row = 0; row < shape.rows(); ++row) {
    forward_row(shape, t, row, o + row * shape.d, lse + row);
  }
}

// Device pointers, the default stream.
template <class T>
void forward_on_device(const Shape& shape, const Tensors<T>& t, T* o, float* lse) {
  attention::with_head_dim(shape.d, [&](auto head_dim) {
    const int blocks = kit::divide_up(shape.rows(), kForwardThreads / 32);
    forward_kernel<T, head_dim><<<blocks, kForwardThreads>>>(t, o, lse, shape);
    CUDA_CHECK(cudaGetLastError());
  });
}

}  // namespace backward
