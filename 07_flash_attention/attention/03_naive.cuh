// naive: three kernels, with all scores in global memory between them.
//
// S = scale Q K^T, softmax of each row of S in place, O = S V. The products use the tiles of 32 x
// 32 in shared memory that every matrix product starts from. It is what a framework does when the
// three steps are three calls. What is still wrong: S has n_q x n_k elements per head. It is
// written, read three times, written and read again. With long sequences it does not fit at all.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

#include "07_flash_attention/shape.hpp"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"

namespace attention {

constexpr int kNaiveTile = 32;        // a block of 32 x 32 threads computes as many elements
constexpr int kSoftmaxThreads = 256;  // on one row

// s[i][j] = scale q_i k_j. T is float, bf16 or fp16.
template <class T>
__global__ void __launch_bounds__(kNaiveTile* kNaiveTile)
    attention_scores_kernel(const T* q, const T* k, T* s, int n_q, int n_k, int d, float scale) {
  // Which tile of S this block computes, of which head.
  __shared__ float tile_q[kNaiveTile][kNaiveTile];
  __shared__ float tile_k[kNaiveTile][kNaiveTile + 1];  // read down its columns: padded
  const int tiles_across = kit::divide_up(n_k, kNaiveTile);
  const int tiles = kit::divide_up(n_q, kNaiveTile) * tiles_across;
  const std::int64_t head = blockIdx.x / tiles;
  const int tile = blockIdx.x % tiles;
  const int x = threadIdx.x, y = threadIdx.y;
  const int row = tile / tiles_across * kNaiveTile + y;
  const int first_key = tile % tiles_across * kNaiveTile;
  q += head * n_q * d;
  k += head * n_k * d;

  // 32 columns of Q and of K at a time; what lies outside counts as zeros.
  float sum = 0;
  for (int begin = 0; begin < d; begin += kNaiveTile) {
    const int key = first_key + y;
    tile_q[y][x] = row < n_q ? static_cast<float>(q[row * d + begin + x]) : 0.0f;
    tile_k[y][x] = key < n_k ? static_cast<float>(k[key * d + begin + x]) : 0.0f;
    __syncthreads();
    for (int c = 0; c < kNaiveTile; ++c) sum += tile_q[y][c] * tile_k[x][c];
    __syncthreads();
  }
  const int key = first_key + x;
  if (row < n_q && key < n_k) s[(head * n_q + row) * n_k + key] = T(scale * sum);
}

// The maximum, or the sum, of one value of each of the block's threads; all threads get it.
template <bool kOfSum>
__device__ float over_block(float value) {
  __shared__ float of_warp[kSoftmaxThreads / 32];
  const auto combine = [](float a, float b) { return kOfSum ? a + b : fmaxf(a, b); };
  for (int step = 16; step > 0; step /= 2) {
    value = combine(value, __shfl_xor_sync(0xffffffff, value, step));
  }
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
  __syncthreads();
  value = of_warp[0];
  for (int w = 1; w < kSoftmaxThreads / 32; ++w) value = combine(value, of_warp[w]);
  __syncthreads();  // of_warp may be written again
  return value;
}

// One block for each row of s: s = exp(s - row_max) / sum over the keys that the row sees, 0 for
// the others.
template <class T>
__global__ void __launch_bounds__(kSoftmaxThreads)
    attention_softmax_kernel(T* s, float* lse, int n_q, int n_k, bool causal) {
  T* row = s + static_cast<std::int64_t>(blockIdx.x) * n_k;
  const int query = static_cast<int>(blockIdx.x) % n_q;
  const int keys = causal ? visible_keys<true>(query, n_q, n_k) : n_k;
  // region passes
  float row_max = -INFINITY, sum = 0;
  for (int j = threadIdx.x; j < keys; j += kSoftmaxThreads) {
    row_max = fmaxf(row_max, static_cast<float>(row[j]));
  }
  row_max = over_block<false>(row_max);
  for (int j = threadIdx.x; j < keys; j += kSoftmaxThreads) {
    sum += expf(static_cast<float>(row[j]) - row_max);
  }
  sum = over_block<true>(sum);
  for (int j = threadIdx.x; j < n_k; j += kSoftmaxThreads) {
    row[j] = T(j < keys ? expf(static_cast<float>(row[j]) - row_max) / sum : 0.0f);
  }
  // endregion
  if (threadIdx.x == 0) lse[blockIdx.x] = row_max + logf(sum);
}

// o = p v
template <class T>
__global__ void __launch_bounds__(kNaiveTile* kNaiveTile)
    attention_naive_kernel(const T* p, const T* v, T* o, int n_q, int n_k, int d) {
  // Which tile of O this block computes, of which head.
  __shared__ float tile_p[kNaiveTile][kNaiveTile];
  __shared__ float tile_v[kNaiveTile][kNaiveTile];
  const int tiles_across = d / kNaiveTile;
  const int tiles = kit::divide_up(n_q, kNaiveTile) * tiles_across;
  const std::int64_t head = blockIdx.x / tiles;
  const int tile = blockIdx.x % tiles;
  const int x = threadIdx.x, y = threadIdx.y;
  const int row = tile / tiles_across * kNaiveTile + y;
  const int col = tile % tiles_across * kNaiveTile + x;
  p += head * n_q * n_k;
  v += head * n_k * d;

  // 32 keys at a time; what lies outside counts as zeros.
  float sum = 0;
  for (int begin = 0; begin < n_k; begin += kNaiveTile) {
    const bool inside = row < n_q && begin + x < n_k;
    const std::int64_t at = static_cast<std::int64_t>(row) * n_k + begin + x;
    tile_p[y][x] = inside ? static_cast<float>(p[at]) : 0.0f;
    tile_v[y][x] = begin + y < n_k ? static_cast<float>(v[(begin + y) * d + col]) : 0.0f;
    __syncthreads();
    for (int j = 0; j < kNaiveTile; ++j) sum += tile_p[y][j] * tile_v[j][x];
    __syncthreads();
  }
  if (row < n_q) o[(head * n_q + row) * d + col] = T(sum);
}

// Device pointers; shapes as Shape says, d a multiple of 32. scores: room for all of them,
// shape.rows() * shape.n_k elements.
template <class T>
void naive(const Shape& shape, const Tensors<T>& t, T* scores, cudaStream_t stream) {
  const int n_q = static_cast<int>(shape.n_q), n_k = static_cast<int>(shape.n_k), d = shape.d;
  const int heads = static_cast<int>(shape.all_heads());
  const int tiles_down = kit::divide_up(n_q, kNaiveTile);
  const dim3 block(kNaiveTile, kNaiveTile);
  const int score_tiles = heads * tiles_down * kit::divide_up(n_k, kNaiveTile);
  const int output_tiles = heads * tiles_down * (d / kNaiveTile);
  attention_scores_kernel<<<score_tiles, block, 0, stream>>>(t.q, t.k, scores, n_q, n_k, d,
                                                             shape.scale());
  CUDA_CHECK(cudaGetLastError());
  attention_softmax_kernel<<<heads * n_q, kSoftmaxThreads, 0, stream>>>(scores, t.lse, n_q, n_k,
                                                                        shape.causal);
  CUDA_CHECK(cudaGetLastError());
  attention_naive_kernel<<<output_tiles, block, 0, stream>>>(scores, t.v, t.o, n_q, n_k, d);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace attention
