// Exercise 02/both: points on the unit circle, without lanes that disagree.
#pragma once

#include <cuda_runtime.h>

// z[2 i] = cos(phi[i]), z[2 i + 1] = sin(phi[i]) for all i < n. phi and z point to device memory.
__global__ void to_cartesian_kernel(const float* phi, float* z, int n) {
  //@ task 1: one angle per thread: its cosine and its sine
  //@ hint: the number of a thread is the number of its angle now, not of an element of z
  //@ hint: no if on threadIdx is left; the bounds guard stays
  //@ instead: const int j = blockIdx.x * blockDim.x + threadIdx.x;
  //@ instead: if (j < n) {
  //@ instead:   if (j % 2 == 0) z[j] = cosf(phi[j / 2]);
  //@ instead:   if (j % 2 == 1) z[j] = sinf(phi[j / 2]);
  //@ instead: }
  //@ begin
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    z[2 * i] = cosf(phi[i]);
    z[2 * i + 1] = sinf(phi[i]);
  }
  //@ end
}

inline void to_cartesian(const float* phi, float* z, int n) {
  const int block = 128;
  to_cartesian_kernel<<<(n + block - 1) / block, block>>>(phi, z, n);
}
