// Exercise 05/kahan: long sums that hardly round.
#pragma once

#include <cuda_runtime.h>

// sums[t] = x[t] + x[t + stride] + x[t + 2 stride] + ..., each by one thread, `stride` of them.
__global__ void strided_sums_kernel(const float* x, float* sums, int n, int stride) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= stride) return;
  float sum = 0;
  float lost = 0;  // what the last addition has added too much
  for (int i = t; i < n; i += stride) {
    const float value = x[i];
    //@ task 1: add value to sum, less what the last addition has added too much
    //@ hint: the number to add is value - lost; the new sum is sum + that number, rounded
    //@ hint: what has really been added is (new sum - old sum): exact, as the two are close together
    //@ hint: lost = (new sum - old sum) - the number to add
    //@ begin
    const float corrected = value - lost;
    const float next = sum + corrected;
    lost = (next - sum) - corrected;
    sum = next;
    //@ end
  }
  sums[t] = sum;
}

inline void strided_sums(const float* x, float* sums, int n, int stride) {
  strided_sums_kernel<<<(stride + 31) / 32, 32>>>(x, sums, n, stride);
}
