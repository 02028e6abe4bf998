// SPDX-License-Identifier: MIT
// Swizzled tiles: rows whose 16-byte chunks change places, so that no bank conflicts are left.
//
// Shared memory serves 128 bytes at a time, 16 bytes from each of eight groups of banks. ldmatrix,
// wgmma and stmatrix read or write the same chunk of eight rows together; in a plain tile these lie
// in one group. Here chunk c of row r lies where c ^ (r % 8) would be: exclusive or only changes
// the order of a row's chunks, and eight rows of one column are in eight different groups.
#pragma once

#include <cuda_runtime.h>

namespace kit {

// Where chunk `chunk` of a row lies, counted in chunks from the tile's first; kChunks of them are a
// row. Two rows of 64 bytes share one wavefront of 128 bytes: there every second row changes the
// order.
template <int kChunks>
__host__ __device__ constexpr int swizzled_chunk(int row, int chunk) {
  static_assert(kChunks == 4 || kChunks % 8 == 0, "rows of 64 bytes or whole wavefronts");
  return row * kChunks + (chunk ^ (kChunks == 4 ? row / 2 % 4 : row % 8));
}

// In elements of 16 bits, for the eight that begin at column `col` of a row of kCols.
template <int kCols>
__host__ __device__ constexpr int swizzled(int row, int col) {
  constexpr int kChunks = kCols / 8;
  static_assert(kChunks == 4 || kChunks % 8 == 0, "rows of 64 bytes or whole wavefronts");
  const int mask = kChunks == 4 ? row / 2 % 4 : row % 8;
  return row * kCols + (col / 8 ^ mask) * 8;
}

}  // namespace kit
