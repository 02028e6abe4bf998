// Exercise 07/merge: attention over two halves of the keys becomes attention over all of them.
#pragma once

#include <cuda_runtime.h>

#include <cmath>

// o_a, o_b, o: rows of d floats. lse_a, lse_b, lse: one float per row, the logarithm of the sum of
// the exponentials of its scores: -INFINITY, with o = 0, if it had no keys.
__global__ void merge_kernel(const float* o_a, const float* lse_a, const float* o_b,
                             const float* lse_b, float* o, float* lse, int rows, int d) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;  // an element of o
  if (i >= rows * d) return;
  const int row = i / d;
  const float a = lse_a[row], b = lse_b[row];
  //@ task 1: the output of both halves, and (by the thread of a row's first element) its lse
  //@ hint: a half with sum exp(lse) of all weights counts with that share: exp(a) of exp(a) + exp(b)
  //@ hint: exp(200) overflows: subtract the larger of a and b first, from both; add it to the result
  //@ hint: if both are -INFINITY, -INF - -INF is NaN: subtract 0, and o is 0, not 0 / 0
  //@ begin
  const float larger = fmaxf(a, b);
  const float shift = larger == -INFINITY ? 0.0f : larger;
  const float of_a = expf(a - shift), of_b = expf(b - shift), sum = of_a + of_b;
  o[i] = sum > 0 ? (of_a * o_a[i] + of_b * o_b[i]) / sum : 0.0f;
  if (i % d == 0) lse[row] = shift + logf(sum);
  //@ end
}

inline void merge(const float* o_a, const float* lse_a, const float* o_b, const float* lse_b,
                  float* o, float* lse, int rows, int d) {
  merge_kernel<<<(rows * d + 127) / 128, 128>>>(o_a, lse_a, o_b, lse_b, o, lse, rows, d);
}
