// What attention in fp8 reads and writes.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp8.h>

namespace attention::fp8 {

using E4m3 = __nv_fp8_e4m3;

// The head dimension: a row of Q, K or V is 128 bytes, as many as a swizzled row of a tile.
constexpr int kHeadDim = 128;

// Q, K and V as Shape says, in E4M3, O in bf16, the log-sum-exp in fp32. Each head has a scale for
// its Q, its K and its V, [batch, heads], larger than 2^-100: an element stands for itself times
// the scale. Pointers of the side that works on them; those to elements aligned to 16 bytes.
struct Tensors8 {
  const E4m3 *q, *k, *v;
  const float *scale_q, *scale_k, *scale_v;
  __nv_bfloat16* o;
  float* lse;
};

}  // namespace attention::fp8
