// Prefix sums: Hillis and Steele, Blelloch, and one kernel in which every block waits for the one
// before.
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#define SECTION 256

__global__ void koggeStone(float* X, float* Y, unsigned int N) {
  __shared__ float XY[SECTION];
  unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
  XY[threadIdx.x] = i < N ? X[i] : 0.0f;
  for (unsigned int stride = 1; stride < blockDim.x; stride *= 2) {
    __syncthreads();
    float temp = 0;
    if (threadIdx.x >= stride) temp = XY[threadIdx.x] + XY[threadIdx.x - stride];
    __syncthreads();
    if (threadIdx.x >= stride) XY[threadIdx.x] = temp;
  }
  if (i < N) Y[i] = XY[threadIdx.x];
}
__global__ void brentKung(float* X, float* Y, unsigned int N) {
  __shared__ float XY[2 * SECTION];
  unsigned int i = 2 * blockIdx.x * blockDim.x + threadIdx.x;
  XY[threadIdx.x] = i < N ? X[i] : 0;
  XY[threadIdx.x + blockDim.x] = i + blockDim.x < N ? X[i + blockDim.x] : 0;
  for (unsigned int stride = 1; stride <= blockDim.x; stride *= 2) {
    __syncthreads();
    unsigned int index = (threadIdx.x + 1) * 2 * stride - 1;
    if (index < 2 * SECTION) XY[index] += XY[index - stride];
  }
  for (int stride = SECTION / 2; stride > 0; stride /= 2) {
    __syncthreads();
    unsigned int index = (threadIdx.x + 1) * stride * 2 - 1;
    if (index + stride < 2 * SECTION) XY[index + stride] += XY[index];
  }
  __syncthreads();
  if (i < N) Y[i] = XY[threadIdx.x];
  if (i + blockDim.x < N) Y[i + blockDim.x] = XY[threadIdx.x + blockDim.x];
}

__device__ unsigned int ticket = 0;
__global__ void domino(const int* in, int* out, int* flags, int* sums, int n) {
  __shared__ int section[SECTION], bid, previous;
  if (threadIdx.x == 0) bid = atomicAdd(&ticket, 1);
  __syncthreads();
  int i = bid * SECTION + threadIdx.x;
  section[threadIdx.x] = i < n ? in[i] : 0;
  for (int stride = 1; stride < SECTION; stride *= 2) {
    __syncthreads();
    int left = threadIdx.x >= stride ? section[threadIdx.x - stride] : 0;
    __syncthreads();
    section[threadIdx.x] += left;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    while (bid > 0 && atomicAdd(&flags[bid - 1], 0) == 0) {
    }
    previous = bid > 0 ? sums[bid - 1] : 0;
    sums[bid] = previous + section[SECTION - 1];
    __threadfence();
    atomicAdd(&flags[bid], 1);
  }
  __syncthreads();
  if (i < n) out[i] = section[threadIdx.x] + previous;
}

int main() {
  const unsigned n = 512;
  float *x, *y;
  cudaMallocManaged(&x, n * sizeof(float));
  cudaMallocManaged(&y, n * sizeof(float));
  for (unsigned i = 0; i < n; ++i) x[i] = (float)(i % 5);
  koggeStone<<<2, SECTION>>>(x, y, n);
  cudaDeviceSynchronize();
  float sum = 0;
  for (unsigned i = 0; i < n; ++i) {
    sum = (i % SECTION ? sum : 0) + x[i];
    if (y[i] != sum) return 1;
  }
  brentKung<<<1, SECTION>>>(x, y, n);
  cudaDeviceSynchronize();
  sum = 0;
  for (unsigned i = 0; i < n; ++i)
    if (y[i] != (sum += x[i])) return 2;

  const int m = 20000, blocks = (m + SECTION - 1) / SECTION;
  int *in, *out, *flags, *sums;
  cudaMallocManaged(&in, m * sizeof(int));
  cudaMallocManaged(&out, m * sizeof(int));
  cudaMalloc(&flags, blocks * sizeof(int));
  cudaMalloc(&sums, blocks * sizeof(int));
  cudaMemset(flags, 0, blocks * sizeof(int));
  for (int i = 0; i < m; ++i) in[i] = i % 7 - 3;
  domino<<<blocks, SECTION>>>(in, out, flags, sums, m);
  if (cudaDeviceSynchronize() != cudaSuccess) return 3;
  int total = 0;
  for (int i = 0; i < m; ++i)
    if (out[i] != (total += in[i])) return 4;
  printf("ok\n");
  return 0;
}
