// Exercise 03/grey: an image of interleaved colours turned grey.
#pragma once

#include <cuda_runtime.h>

// The brightness of a colour: about 0.3 red, 0.59 green, 0.11 blue.
__host__ __device__ inline unsigned brightness(unsigned red, unsigned green, unsigned blue) {
  return (77 * red + 150 * green + 29 * blue + 128) / 256;
}

//@ task 1: the kernel
//@ hint: a warp that loads one byte per lane moves 32 bytes; one that loads a 32-bit word moves 128
//@ hint: 4 pixels are 3 words; words 3 t, 3 t + 1, 3 t + 2 of 32 threads lie apart: 12 sectors
//@ hint: let the block load its words in order, thread t word t, through shared memory
//@ hint: then thread t takes its 12 bytes from there, packs 4 results into a word and stores it
//@ answer: thread t needs words 3 t to 3 t + 2; together 32 threads load 32 that are side by side
//@ begin
constexpr int kBlock = 128;
constexpr int kPixels = 4 * kBlock;  // of a block

__global__ void grey_kernel(const unsigned char* rgb, unsigned char* grey, int n) {
  __shared__ unsigned words[3 * kBlock];
  const int first = blockIdx.x * kPixels, t = threadIdx.x;
  if (first + kPixels > n) {  // the last block, pixel by pixel
    for (int i = first + t; i < n; i += kBlock) {
      grey[i] = brightness(rgb[3 * i], rgb[3 * i + 1], rgb[3 * i + 2]);
    }
    return;
  }

  const unsigned* from = reinterpret_cast<const unsigned*>(rgb + 3 * first);
  for (int k = 0; k < 3; ++k) words[k * kBlock + t] = from[k * kBlock + t];
  __syncthreads();

  const unsigned char* mine = reinterpret_cast<const unsigned char*>(words + 3 * t);
  unsigned four = 0;
  for (int p = 0; p < 4; ++p) {
    four |= brightness(mine[3 * p], mine[3 * p + 1], mine[3 * p + 2]) << 8 * p;
  }
  reinterpret_cast<unsigned*>(grey + first)[t] = four;
}
//@ end

// grey[i] = brightness of pixel i, whose red, green and blue are rgb[3 i], rgb[3 i + 1] and rgb[3 i
// + 2], for all i < n. Both point to device memory and are aligned to 256 bytes.
inline void to_grey(const unsigned char* rgb, unsigned char* grey, int n) {
  //@ task 2: the launch
  //@ hint: as many blocks as it takes for n pixels, rounded up
  //@ begin
  grey_kernel<<<(n + kPixels - 1) / kPixels, kBlock>>>(rgb, grey, n);
  //@ end
}
