// Exercise 01/repair: z[i] = x[i] + x[i + 1], from host arrays to host arrays.
#pragma once

#include <cuda_runtime.h>

// z[i] = x[i] + x[i + 1] for all i < n. x (n + 1 elements) and z point to device memory.
__global__ void neighbours_kernel(const float* x, float* z, int n) {
  //@ task 1: something is wrong with the last elements
  //@ hint: which i may a thread have when n is no multiple of the block?
  //@ hint: a guard is missing: threads with i >= n must do nothing
  //@ instead: const int i = blockIdx.x * blockDim.x + threadIdx.x;
  //@ instead: z[i] = x[i] + x[i + 1];
  //@ begin
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = x[i] + x[i + 1];
  //@ end
}

// x (n + 1 elements) and z (n elements) are host arrays. Returns the first error, or cudaSuccess.
inline cudaError_t neighbours(const float* x, float* z, int n) {
  float *d_x = nullptr, *d_z = nullptr;
  //@ task 2: something is wrong with how much is allocated and copied in
  //@ hint: cudaMalloc and cudaMemcpy count bytes
  //@ hint: x has n + 1 elements
  //@ instead: cudaMalloc(&d_x, n * sizeof(float));
  //@ instead: cudaMalloc(&d_z, n);
  //@ instead: cudaMemcpy(d_x, x, n * sizeof(float), cudaMemcpyHostToDevice);
  //@ begin
  cudaMalloc(&d_x, (n + 1) * sizeof(float));
  cudaMalloc(&d_z, n * sizeof(float));
  cudaMemcpy(d_x, x, (n + 1) * sizeof(float), cudaMemcpyHostToDevice);
  //@ end
  //@ task 3: something is wrong with the launch
  //@ hint: a block has at most 1024 threads
  //@ instead: neighbours_kernel<<<1, n>>>(d_x, d_z, n);
  //@ begin
  neighbours_kernel<<<(n + 255) / 256, 256>>>(d_x, d_z, n);
  //@ end
  const cudaError_t launched = cudaGetLastError();
  //@ task 4: something is wrong with what comes back, and with its error
  //@ hint: which array does this copy bring back, and does anybody look at what it returns?
  //@ hint: a kernel's own error comes back from the next call that waits for it
  //@ instead: cudaMemcpy(z, d_x, n * sizeof(float), cudaMemcpyDeviceToHost);
  //@ instead: const cudaError_t copied = cudaSuccess;
  //@ begin
  const cudaError_t copied = cudaMemcpy(z, d_z, n * sizeof(float), cudaMemcpyDeviceToHost);
  //@ end
  cudaFree(d_x);
  cudaFree(d_z);
  return launched != cudaSuccess ? launched : copied;
}
