// Exercise 02/point: a point with one store.
#pragma once

#include <cuda_runtime.h>

// z[i] = (cos(phi[i]), sin(phi[i])) for all i < n. phi and z point to device memory.
__global__ void to_cartesian_kernel(const float* phi, float2* z, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  //@ task 1: both numbers of the point, stored as one float2
  //@ hint: float2 point; has two members, point.x and point.y
  //@ hint: sincosf(angle, &sine, &cosine) computes both; a point is (cosine, sine)
  //@ hint: z[i] = point; is one store of 8 bytes
  //@ begin
  float2 point;
  sincosf(phi[i], &point.y, &point.x);
  z[i] = point;
  //@ end
}

inline void to_cartesian(const float* phi, float2* z, int n) {
  const int block = 128;
  to_cartesian_kernel<<<(n + block - 1) / block, block>>>(phi, z, n);
}
