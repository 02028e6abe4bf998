// stored: the five products one after the other, each a kernel, all matrices in memory.
//
// This is how a framework goes backward without a kernel of its own for it. S = Q K^T and
// dP = dO V^T are n_q x n_k each; a row kernel makes them P and dS in place; three more products
// read those. A product has its tiles in shared memory, as in chapter 04. What is still wrong: two
// matrices of n_q n_k floats per head, each written and read several times: at 16384 tokens 2.1 GB
// per head, where each input has 4.2 MB (d = 64).
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/backward/kit/product.cuh"
#include "07_flash_attention/backward/shape.hpp"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"

namespace backward {

// P and dS.
inline std::int64_t stored_scratch(const Shape& shape) { return 2 * shape.rows() * shape.n_k; }

// A warp per row: s, which holds Q K^T, becomes P, and dp becomes the gradient of Q K^T.
template <class T>
__global__ void __launch_bounds__(256)
    stored_rows_kernel(Tensors<T> t, float* s, float* dp, Shape shape) {
  const std::int64_t row = std::int64_t{blockIdx.x} * 8 + threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  if (row >= shape.rows()) return;
  float delta = 0;
  for (std::int64_t i = row * shape.d + lane; i < (row + 1) * shape.d; i += 32) {
    delta += static_cast<float>(t.d_o[i]) * static_cast<float>(t.o[i]);
  }
  for (int step = 16; step > 0; step /= 2) delta += __shfl_xor_sync(0xffffffff, delta, step);
  const int visible = shape.visible(static_cast<int>(row % shape.n_q));
  for (int j = lane; j < shape.n_k; j += 32) {
    const std::int64_t at = row * shape.n_k + j;
    const float p = j < visible ? expf(shape.scale() * s[at] - t.lse[row]) : 0.0f;
    s[at] = p;
    dp[at] = shape.scale() * p * (dp[at] - delta);
  }
}

// Device pointers. scratch: stored_scratch(shape) floats.
template <class T>
void stored(const Shape& shape, const Tensors<T>& t, float* scratch, cudaStream_t stream) {
  float *p = scratch, *ds = scratch + shape.rows() * shape.n_k;
  const Product pairs{shape.all_heads(), shape.n_q, shape.n_k, shape.d, 1, shape.group()};
  multiply<false, true>(t.q, t.k, p, pairs, stream);
  multiply<false, true>(t.d_o, t.v, ds, pairs, stream);
  stored_rows_kernel<<<kit::divide_up(shape.rows(), 8), 256, 0, stream>>>(t, p, ds, shape);
  CUDA_CHECK(cudaGetLastError());
  const Product keys{shape.all_kv_heads(), shape.n_k, shape.d, shape.n_q, shape.group(), 1};
  const Product queries{shape.all_heads(), shape.n_q, shape.d, shape.n_k, 1, shape.group()};
  multiply<true, false>(p, t.d_o, t.dv, keys, stream);
  multiply<true, false>(ds, t.q, t.dk, keys, stream);
  multiply<false, false>(ds, t.k, t.dq, queries, stream);
}

}  // namespace backward
