// row_per_warp: a warp per query head, and no shared memory: with one query there is nothing
// to share a key with.
//
// Lanes lie along a key, each with two neighbouring elements of every 64, so a load is coalesced;
// query, sums and outputs stay in registers, and the softmax is computed as the keys pass by. Every
// product is of use. What is still wrong: 4 bytes per load and five shuffles per key; the query
// heads of a group read the same keys, each for itself; and there are no more warps than query
// heads.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

#include "07_flash_attention/decode/shape.hpp"
#include "07_flash_attention/shape.hpp"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"

namespace decode {

constexpr int kRowWarps = 4;  // of a block

// Two neighbouring elements, by one load.
template <class T>
__device__ float2 load_pair(const T* from) {
  const std::uint32_t pair = *reinterpret_cast<const std::uint32_t*>(from);
  const T* element = reinterpret_cast<const T*>(&pair);
  return {static_cast<float>(element[0]), static_cast<float>(element[1])};
}

template <class T, int kD>
__global__ void __launch_bounds__(kRowWarps * 32) row_per_warp_kernel(Tensors<T> t, Shape shape) {
  constexpr int kPairs = kD / 64;  // of a query, a key, a value that a lane holds
  const std::int64_t row = std::int64_t{blockIdx.x} * kRowWarps + threadIdx.x / 32;
  if (row >= shape.rows()) return;
  const int lane = threadIdx.x % 32;
  const std::int64_t first = row / shape.group() * shape.n * kD + 2 * lane;

  float2 q[kPairs], o[kPairs] = {};
  for (int i = 0; i < kPairs; ++i) q[i] = load_pair(t.q + row * kD + 64 * i + 2 * lane);
  float largest = -INFINITY, sum = 0;
  for (int j = 0; j < shape.n; ++j) {
    // The score: every lane gets the sum of all lanes' products.
    float score = 0;
    for (int i = 0; i < kPairs; ++i) {
      const float2 k = load_pair(t.k + first + j * kD + 64 * i);
      score += q[i].x * k.x + q[i].y * k.y;
    }
    for (int step = 16; step > 0; step /= 2) score += __shfl_xor_sync(0xffffffff, score, step);
    score *= shape.scale();

    // What was summed so far is brought to the scale of the new maximum.
    const float new_max = fmaxf(largest, score);
    const float correction = expf(largest - new_max), weight = expf(score - new_max);
    largest = new_max;
    sum = sum * correction + weight;
    for (int i = 0; i < kPairs; ++i) {
      const float2 v = load_pair(t.v + first + j * kD + 64 * i);
      o[i].x = o[i].x * correction + weight * v.x;
      o[i].y = o[i].y * correction + weight * v.y;
    }
  }

  for (int i = 0; i < kPairs; ++i) {
    t.o[row * kD + 64 * i + 2 * lane] = T(o[i].x / sum);
    t.o[row * kD + 64 * i + 2 * lane + 1] = T(o[i].y / sum);
  }
  if (lane == 0) t.lse[row] = largest + logf(sum);
}

// Device pointers, aligned to 4 bytes.
template <class T>
void row_per_warp(const Shape& shape, const Tensors<T>& t, cudaStream_t stream) {
  attention::with_head_dim(shape.d, [&](auto head_dim) {
    const int blocks = kit::divide_up(shape.rows(), kRowWarps);
    row_per_warp_kernel<T, head_dim><<<blocks, kRowWarps * 32, 0, stream>>>(t, shape);
    CUDA_CHECK(cudaGetLastError());
  });
}

}  // namespace decode
