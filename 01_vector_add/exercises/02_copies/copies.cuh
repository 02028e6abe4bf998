// Exercise 01/copies: there and back through a stream.
#pragma once

#include <cuda_runtime.h>

__global__ void vector_add_kernel(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  y[i] += x[i];
}

// Puts the whole of vector_add into `stream`, and waits for none of it. Returns an error that a
// call met, or cudaSuccess.
inline cudaError_t enqueue(const float* h_x, float* h_y, float* d_x, float* d_y, int n,
                           cudaStream_t stream) {
  const size_t bytes = n * sizeof(float);
  //@ task 1: both arrays to the device, without waiting
  //@ hint: cudaMemcpyAsync(to, from, bytes, direction, stream)
  //@ hint: y is an input, too
  //@ begin
  cudaMemcpyAsync(d_x, h_x, bytes, cudaMemcpyHostToDevice, stream);
  cudaMemcpyAsync(d_y, h_y, bytes, cudaMemcpyHostToDevice, stream);
  //@ end
  //@ task 2: the kernel, behind the copies, with a thread for each element
  //@ hint: the fourth argument between <<< and >>> is the stream, the third one can be 0
  //@ begin
  vector_add_kernel<<<(n + 255) / 256, 256, 0, stream>>>(d_x, d_y, n);
  //@ end
  //@ task 3: the result to the host
  //@ hint: all that one stream holds runs in order: the copy needs no wait before it
  //@ begin
  cudaMemcpyAsync(h_y, d_y, bytes, cudaMemcpyDeviceToHost, stream);
  //@ end
  return cudaGetLastError();
}

// h_y[i] = h_x[i] + h_y[i] for all i < n, done when the function returns. h_x and h_y are pinned
// host memory; d_x and d_y are device memory for n floats each. All work goes into `stream`, which
// does not wait for the default stream. Returns an error that a call met, or cudaSuccess.
inline cudaError_t vector_add(const float* h_x, float* h_y, float* d_x, float* d_y, int n,
                              cudaStream_t stream) {
  const cudaError_t error = enqueue(h_x, h_y, d_x, d_y, n, stream);
  if (error != cudaSuccess) return error;
  //@ task 4: return when the result is there
  //@ hint: the caller reads h_y at once
  //@ hint: cudaStreamSynchronize(stream) waits, and returns an error
  //@ instead: return cudaSuccess;
  //@ begin
  return cudaStreamSynchronize(stream);
  //@ end
}
