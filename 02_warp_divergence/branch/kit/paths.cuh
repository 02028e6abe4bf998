// The two paths of problem B: which elements are expensive, and what becomes of them.
#pragma once

#include <cuda_runtime.h>

#include <cmath>

namespace branch {

// Steps of the expensive path. The cheap path is one.
constexpr int kExpensiveSteps = 256;

// Negative elements take the expensive path.
__host__ __device__ inline bool is_expensive(float x) { return x < 0; }

// One step of v <- v^2 - 1.9, rounded once. Values stay within [-1.9, 1.71] and behave chaotically:
// a result that is one rounding off anywhere is soon all wrong, so it can be checked to the last
// bit.
__host__ __device__ inline float advance(float v) { return fmaf(v, v, -1.9f); }

__host__ __device__ inline float cheap_path(float x) { return advance(x); }

// Stands for anything that takes long: each step must wait for the one before.
__host__ __device__ inline float expensive_path(float x) {
  for (int step = 0; step < kExpensiveSteps; ++step) x = advance(x);
  return x;
}

}  // namespace branch
