// Exercise 04/box: a tile that TMA brings.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/kit/ptx/tma.cuh"
#include "common/kit/tensor_map.cuh"

constexpr int kRows = 16, kCols = 32;  // of a tile

// b[c][r] = a[r][c]: the block brings a tile of a, and stores it transposed. a is rows x cols and
// row-major, and `map` describes it.
__global__ void transpose_kernel(const __grid_constant__ CUtensorMap map, float* b, int rows,
                                 int cols) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  __shared__ alignas(128) float tile[kRows][kCols];
  __shared__ std::uint64_t full;
  const int row = blockIdx.y * kRows, col = blockIdx.x * kCols;  // the tile's corner in a
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&full, 1);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  //@ task 1: one thread has the tile brought, and everybody waits for it
  //@ hint: thread 0 promises the bytes of the whole box, also where it sticks out: zeros count too
  //@ hint: ptx::tensor_load(tile, &map, c0, c1, &full): c0 counts along a row, so it is the column
  //@ hint: then all threads poll: while (!ptx::mbarrier_try_wait_parity(&full, 0)) { }
  //@ begin
  if (threadIdx.x == 0) {
    ptx::mbarrier_arrive_expect_tx(&full, sizeof tile);
    ptx::tensor_load(tile, &map, col, row, &full);
  }
  while (!ptx::mbarrier_try_wait_parity(&full, 0)) {
  }
  //@ end
  for (int i = threadIdx.x; i < kRows * kCols; i += blockDim.x) {
    const int r = row + i % kRows, c = col + i / kRows;
    if (r < rows && c < cols) b[c * rows + r] = tile[i % kRows][i / kRows];
  }
#endif
}

// a is aligned to 16 bytes, and cols is a multiple of 4. Both point to device memory.
inline void transpose(const float* a, float* b, int rows, int cols) {
  using Sizes = std::initializer_list<std::uint64_t>;
  using Box = std::initializer_list<std::uint32_t>;
  //@ task 2: sizes in elements, the distance of rows in bytes, and the box of one copy
  //@ hint: the contiguous dimension comes first: columns, then rows
  //@ hint: the box has the same order: kCols, kRows; a dense row is cols * sizeof(float) bytes long
  //@ instead: const Sizes sizes = {4, 1}, pitch = {16};
  //@ instead: const Box box = {4, 1};
  //@ begin
  const Sizes sizes = {static_cast<std::uint64_t>(cols), static_cast<std::uint64_t>(rows)};
  const Sizes pitch = {cols * sizeof(float)};
  const Box box = {kCols, kRows};
  //@ end
  const CUtensorMap map = kit::tensor_map(a, sizes, pitch, box, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                          CU_TENSOR_MAP_SWIZZLE_NONE);
  const dim3 grid((cols + kCols - 1) / kCols, (rows + kRows - 1) / kRows);
  transpose_kernel<<<grid, 128>>>(map, b, rows, cols);
}
