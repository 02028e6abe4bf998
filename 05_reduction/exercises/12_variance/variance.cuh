// Exercise 05/variance: the mean and the variance of each row, and the largest of the variances.
#pragma once

#include <cuda_runtime.h>

constexpr int kBlock = 128;
constexpr int kWarps = kBlock / 32;

// The sum over the block, in all of its threads.
__device__ inline float block_sum(float sum) {
  __shared__ float of_warps[kWarps];
  for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffffu, sum, s);
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = sum;
  __syncthreads();
  float total = 0;
  for (int w = 0; w < kWarps; ++w) total += of_warps[w];
  //@ task 1: may this function return?
  //@ hint: it is called twice. Which memory do both calls use?
  //@ hint: a fast warp begins the second call while a slow one still reads what the first call left
  //@ hint: a barrier behind the last read
  //@ begin
  __syncthreads();
  //@ end
  return total;
}

// A block has a row of `columns` floats.
__global__ void variance_kernel(const float* x, int columns, float* mean, float* variance,
                                unsigned* largest) {
  const float* row = x + static_cast<long long>(blockIdx.x) * columns;
  float sum = 0;
  for (int c = threadIdx.x; c < columns; c += kBlock) sum += row[c];
  const float center = block_sum(sum) / columns;

  float squares = 0;
  //@ task 2: the sum of the squared distances from the mean, over the row
  //@ hint: which threads call block_sum if the row has fewer elements than the block has threads?
  //@ hint: a barrier, and a shuffle that names 32 lanes, must be reached by all
  //@ hint: threads without an element bring 0; they do not stay away
  //@ instead: for (int c = threadIdx.x; c < columns; c += kBlock) {
  //@ instead:   const float distance = row[c] - center;
  //@ instead:   squares += distance * distance;
  //@ instead: }
  //@ instead: if (static_cast<int>(threadIdx.x) < columns) squares = block_sum(squares);
  //@ begin
  for (int c = threadIdx.x; c < columns; c += kBlock) {
    const float distance = row[c] - center;
    squares += distance * distance;
  }
  squares = block_sum(squares);  // by all threads
  //@ end

  //@ task 3: thread 0 stores, and takes part in the largest
  //@ hint: a variance is not negative, so its bits grow with it, and atomicMax finds the largest
  //@ hint: *largest must be 0 before the first block adds to it. Does block 0 run first?
  //@ hint: nobody promises it: clear it where all blocks are still to come (task 4)
  //@ instead: if (threadIdx.x == 0) {
  //@ instead:   if (blockIdx.x == 0) *largest = 0;
  //@ instead:   mean[blockIdx.x] = center;
  //@ instead:   variance[blockIdx.x] = squares / columns;
  //@ instead:   atomicMax(largest, __float_as_uint(squares / columns));
  //@ instead: }
  //@ begin
  if (threadIdx.x == 0) {
    mean[blockIdx.x] = center;
    variance[blockIdx.x] = squares / columns;
    atomicMax(largest, __float_as_uint(squares / columns));
  }
  //@ end
}

// x: rows of `columns` floats; mean, variance: one a row; *largest: the largest variance.
inline void variances(const float* x, int rows, int columns, float* mean, float* variance,
                      float* largest) {
  unsigned* const bits = reinterpret_cast<unsigned*>(largest);
  //@ task 4: what must happen before the launch?
  //@ hint: look at task 3 first
  //@ hint: what clears memory of the device, in the order of the stream?
  //@ hint: cudaMemsetAsync(bits, 0, sizeof(*bits))
  //@ begin
  cudaMemsetAsync(bits, 0, sizeof(*bits));
  //@ end
  variance_kernel<<<rows, kBlock>>>(x, columns, mean, variance, bits);
}
