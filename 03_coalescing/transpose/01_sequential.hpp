// sequential: two loops.
//
// The inner loop reads along a row and writes down a column. Every write goes to another cache
// line, and when the matrix is large the line is gone before its next element comes. What is wrong
// on a CPU is what will be wrong on the GPU: one side goes across the rows.
#pragma once

#include <cstdint>

namespace transpose {

// out[c][r] = in[r][c], in: rows x cols. Host pointers, row-major, dense.
inline void transpose_sequential(const float* in, float* out, std::int64_t rows,
                                 std::int64_t cols) {
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < cols; ++c) out[c * rows + r] = in[r * cols + c];
  }
}

}  // namespace transpose
