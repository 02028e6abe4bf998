// Exercise 04/chunks: ldmatrix, and tiles that it reads without bank conflicts.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/kit/ptx/mma.cuh"

constexpr int kTileK = 64;  // a row of A's tile: 128 bytes, 8 chunks of 16 bytes

// Where the chunk of 8 elements is kept that begins at column `col` of row `row`: elements from the
// beginning of the tile. Every row keeps its 8 chunks, in another order.
__device__ inline int place(int row, int col) {
  //@ task 1: an order in which chunk c of 8 neighbouring rows lies in 8 different places of a row
  //@ hint: a chunk of 16 bytes fills 4 banks; rows of 128 bytes all begin in bank 0
  //@ hint: the chunk's number is col / 8; let row r keep it at number (col / 8) ^ (r % 8)
  //@ hint: row * kTileK + ((col / 8) ^ (row % 8)) * 8
  //@ instead: return 0;
  //@ begin
  return row * kTileK + (col / 8 ^ row % 8) * 8;
  //@ end
}

// C = A B by one warp. A is 16 x k, B is k x 8, C is 16 x 8, all row-major, in device memory; k is
// a multiple of 64. A and B hold numbers that bf16 can hold.
__global__ void multiply_kernel(const float* a, const float* b, float* c, int k) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  __shared__ alignas(128) __nv_bfloat16 tile[16 * kTileK];
  const int lane = threadIdx.x, g = lane / 4, two = lane % 4 * 2;
  float d[4] = {};
  for (int p = 0; p < k; p += kTileK) {
    // Lanes take chunks: 8 elements of A become bf16 and are stored with one store of 16 bytes.
    for (int i = lane; i < 16 * kTileK / 8; i += 32) {
      const int row = i / 8, col = i % 8 * 8;
      const float* from = a + row * k + p + col;
      *reinterpret_cast<uint4*>(&tile[place(row, col)]) =
          make_uint4(ptx::pack_bf16(from[0], from[1]), ptx::pack_bf16(from[2], from[3]),
                     ptx::pack_bf16(from[4], from[5]), ptx::pack_bf16(from[6], from[7]));
    }
    __syncwarp();
    for (int q = 0; q < kTileK; q += 16) {
      //@ task 2: the row of an 8 x 8 matrix whose address this lane gives to ldmatrix
      //@ hint: lanes 0 to 7: top left matrix, 8 to 15: bottom left, then top right, bottom right
      //@ hint: lanes 0 to 15 point to rows 0 to 15 at column q, lanes 16 to 31 to the same at q + 8
      //@ hint: row lane % 16, column q + lane / 16 * 8
      //@ instead: const int row = 0, col = 0;
      //@ begin
      const int row = lane % 16, col = q + lane / 16 * 8;
      //@ end
      std::uint32_t from_a[4], from_b[2];
      ptx::ldmatrix_x4(from_a, &tile[place(row, col)]);
      for (int i = 0; i < 2; ++i) {
        const float* from = b + (p + q + two + i * 8) * 8 + g;
        from_b[i] = ptx::pack_bf16(from[0], from[8]);
      }
      ptx::mma_m16n8k16(d, from_a, from_b[0], from_b[1]);
    }
    __syncwarp();
  }
  for (int i = 0; i < 4; ++i) c[(g + i / 2 * 8) * 8 + two + i % 2] = d[i];
#endif
}

inline void multiply(const float* a, const float* b, float* c, int k) {
  multiply_kernel<<<1, 32>>>(a, b, c, k);
}
