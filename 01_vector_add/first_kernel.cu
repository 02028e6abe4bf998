// SPDX-License-Identifier: MIT
// The first kernel: y = x + y for ten floats, in one file that needs nothing of this repository.
//
//   nvcc first_kernel.cu -o first_kernel && ./first_kernel          on a machine with a GPU
//   ../simt/nvcc first_kernel.cu -o first_kernel && ./first_kernel  on any other
#include <cstdio>

// A kernel: a function that the GPU runs once for each thread. Each thread finds out which one it
// is, and takes the element with that number.
__global__ void add(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {  // the last block may have more threads than there are elements left
    y[i] = x[i] + y[i];
    printf("block %d, thread %d: y[%d] = %g\n", blockIdx.x, threadIdx.x, i, y[i]);
  }
}

// A CUDA call returns an error code. Who does not look at it learns of a mistake far too late.
bool failed(cudaError_t code, const char* what) {
  if (code == cudaSuccess) return false;
  fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(code));
  return true;
}

int main() {
  const int n = 10, bytes = n * sizeof(float);
  float x[n], y[n];  // in the memory of the CPU: the host
  for (int i = 0; i < n; ++i) x[i] = i, y[i] = 100;

  float *d_x = nullptr, *d_y = nullptr;  // in the memory of the GPU: the device
  if (failed(cudaMalloc(&d_x, bytes), "cudaMalloc")) return 1;
  if (failed(cudaMalloc(&d_y, bytes), "cudaMalloc")) return 1;
  if (failed(cudaMemcpy(d_x, x, bytes, cudaMemcpyHostToDevice), "copy of x")) return 1;
  if (failed(cudaMemcpy(d_y, y, bytes, cudaMemcpyHostToDevice), "copy of y")) return 1;

  // The launch. It stands for two loops, whose iterations run side by side, in any order:
  //   for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x)
  //     for (threadIdx.x = 0; threadIdx.x < threads; ++threadIdx.x) add(d_x, d_y, n);
  const int threads = 4;
  const int blocks = (n + threads - 1) / threads;  // 3: enough blocks for 10 elements
  const int shared_bytes = 0;                      // shared memory of a block, set at the launch
  cudaStream_t stream = nullptr;                   // the queue it waits in; this is the default one
  add<<<blocks, threads, shared_bytes, stream>>>(d_x, d_y, n);
  if (failed(cudaGetLastError(), "launch")) return 1;       // was it accepted?
  if (failed(cudaDeviceSynchronize(), "kernel")) return 1;  // a launch does not wait: we do

  if (failed(cudaMemcpy(y, d_y, bytes, cudaMemcpyDeviceToHost), "copy of y back")) return 1;
  if (failed(cudaFree(d_x), "cudaFree") || failed(cudaFree(d_y), "cudaFree")) return 1;

  for (int i = 0; i < n; ++i) {
    if (y[i] != 100 + i) return printf("wrong: y[%d] = %g\n", i, y[i]), 1;
  }
  printf("all %d right\n", n);
}
