// Exercise 01/vectorize: y = x + y, four floats at a time.
#pragma once

#include <cuda_runtime.h>

// y[i] = x[i] + y[i] for all i < n. x and y point to device memory and are aligned to 16 bytes. The
// grid has a thread for each whole float4, and at least four threads.
__global__ void vector_add_kernel(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int whole = n / 4;  // float4 that are full
  //@ task 1: thread i adds float4 number i, if there is one
  //@ hint: reinterpret_cast<const float4*>(x)[i] is one load of 16 bytes
  //@ hint: load both float4 into variables, add x, y, z and w one by one, store one float4
  //@ begin
  if (i < whole) {
    const float4 a = reinterpret_cast<const float4*>(x)[i];
    float4 b = reinterpret_cast<float4*>(y)[i];
    b.x += a.x;
    b.y += a.y;
    b.z += a.z;
    b.w += a.w;
    reinterpret_cast<float4*>(y)[i] = b;
  }
  //@ end
  //@ task 2: the elements behind the last full float4, at most three
  //@ hint: they begin at 4 * whole, and there are n - 4 * whole of them
  //@ hint: let threads 0, 1 and 2 take one each: element 4 * whole + i
  //@ begin
  if (i < n - 4 * whole) y[4 * whole + i] += x[4 * whole + i];
  //@ end
}

inline void vector_add(const float* x, float* y, int n) {
  const int block = 128;
  const int threads = n / 4 > 4 ? n / 4 : 4;
  vector_add_kernel<<<(threads + block - 1) / block, block>>>(x, y, n);
}
