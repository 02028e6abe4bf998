// online: one kernel, and no score ever reaches memory.
//
// A warp takes one query and walks over its keys. It keeps the largest score so far (the row max),
// the sum of exp(score - row max) and the weighted sum of values; when a larger score turns up,
// both sums are multiplied by a correction factor. At the end their quotient is the output. The
// softmax of a row is never written down, so extra memory falls from n_q x n_k to nothing. What is
// still wrong: every query reads all keys and all values from the L2 cache.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

#include "07_flash_attention/shape.hpp"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"

namespace attention {

constexpr int kOnlineWarps = 4;  // of a block, each with a query of its own

template <int kD, bool kCausal>
__global__ void __launch_bounds__(kOnlineWarps * 32)
    attention_online_kernel(Tensors<float> t, std::int64_t rows, int n_q, int n_k, float scale) {
  constexpr int kEach = kD / 32;  // elements of a query, a key, a value that a lane holds
  const int lane = threadIdx.x % 32;
  const std::int64_t row = std::int64_t{blockIdx.x} * kOnlineWarps + threadIdx.x / 32;
  if (row >= rows) return;
  const float* k = t.k + row / n_q * n_k * kD + lane;
  const float* v = t.v + row / n_q * n_k * kD + lane;
  const int keys = visible_keys<kCausal>(static_cast<int>(row % n_q), n_q, n_k);

  float q[kEach], o[kEach] = {};
  for (int i = 0; i < kEach; ++i) q[i] = scale * t.q[row * kD + lane + 32 * i];
  float row_max = -INFINITY, sum = 0;
  for (int j = 0; j < keys; ++j) {
    // The score: every lane gets the sum of all lanes' products.
    float score = 0;
    for (int i = 0; i < kEach; ++i) score += q[i] * k[j * kD + 32 * i];
    for (int step = 16; step > 0; step /= 2) score += __shfl_xor_sync(0xffffffff, score, step);

    // What was summed so far is brought to the scale of the new maximum.
    const float new_max = fmaxf(row_max, score);
    const float correction = expf(row_max - new_max);  // 0 at the first key
    const float weight = expf(score - new_max);
    row_max = new_max;
    sum = sum * correction + weight;
    for (int i = 0; i < kEach; ++i) o[i] = o[i] * correction + weight * v[j * kD + 32 * i];
  }

  // Without keys the sum is 0, and so is every o.
  for (int i = 0; i < kEach; ++i) t.o[row * kD + lane + 32 * i] = keys > 0 ? o[i] / sum : 0.0f;
  if (lane == 0) t.lse[row] = row_max + logf(sum);
}

// Device pointers; shapes as Shape says.
inline void online(const Shape& shape, const Tensors<float>& t, cudaStream_t stream) {
  const int n_q = static_cast<int>(shape.n_q), n_k = static_cast<int>(shape.n_k);
  with_head_dim(shape.d, shape.causal, [&](auto head_dim, auto causal) {
    attention_online_kernel<head_dim, causal>
        <<<kit::divide_up(shape.rows(), kOnlineWarps), kOnlineWarps * 32, 0, stream>>>(
            t, shape.rows(), n_q, n_k, shape.scale());
    CUDA_CHECK(cudaGetLastError());
  });
}

}  // namespace attention
