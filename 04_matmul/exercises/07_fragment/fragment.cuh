// Exercise 04/fragment: which lane holds which element of a tensor core's operands.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/kit/ptx/mma.cuh"

// C = A B by one warp, 16 values of k at a time. A is 16 x k, B is k x 8, C is 16 x 8, all
// row-major, in device memory; k is a multiple of 16. A and B hold numbers that bf16 can hold.
__global__ void multiply_kernel(const float* a, const float* b, float* c, int k) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  const int lane = threadIdx.x;
  const int g = lane / 4, two = lane % 4 * 2;  // row, and first of two columns, in an 8 x 8 matrix
  float d[4] = {};
  for (int p = 0; p < k; p += 16) {
    std::uint32_t from_a[4] = {}, from_b[2] = {};
    //@ task 1: four 8 x 8 matrices of A: top left, bottom left, top right, bottom right
    //@ hint: ptx::pack_bf16(left, right) makes one register of two neighbours of a row
    //@ hint: top left: row g, columns p + two and next; bottom: 8 rows down; right: 8 columns on
    //@ hint: for (int i = 0; i < 4; ++i) row g + i % 2 * 8, column p + two + i / 2 * 8
    //@ begin
    for (int i = 0; i < 4; ++i) {
      const float* from = a + (g + i % 2 * 8) * k + p + two + i / 2 * 8;
      from_a[i] = ptx::pack_bf16(from[0], from[1]);
    }
    //@ end
    //@ task 2: two 8 x 8 matrices of B, top and bottom, held by columns
    //@ hint: B's fragments are transposed: g is the column, and `two` the first of two rows
    //@ hint: rows p + two and the next of column g, 8 floats apart in memory; then 8 rows down
    //@ begin
    for (int i = 0; i < 2; ++i) {
      const float* from = b + (p + two + i * 8) * 8 + g;
      from_b[i] = ptx::pack_bf16(from[0], from[8]);
    }
    //@ end
    ptx::mma_m16n8k16(d, from_a, from_b[0], from_b[1]);
  }
  //@ task 3: four elements of C: d[0] and d[1] lie in the upper 8 rows, d[2] and d[3] in the lower
  //@ hint: as A's fragments: row g or g + 8, columns `two` and two + 1; rows of C have 8 elements
  //@ begin
  for (int i = 0; i < 4; ++i) {
    c[(g + i / 2 * 8) * 8 + two + i % 2] = d[i];
  }
  //@ end
#endif
}

inline void multiply(const float* a, const float* b, float* c, int k) {
  multiply_kernel<<<1, 32>>>(a, b, c, k);
}
