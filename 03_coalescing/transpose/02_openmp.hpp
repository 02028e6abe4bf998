// openmp: tile by tile, and the tiles shared out over all cores.
//
// In a tile of 32 x 32 all 16 floats of a line of the output are written while it is in the cache:
// a tile takes 4 KB on each side. The idea is that of the shared-memory rungs; a CPU's cache
// does by itself what a kernel has to spell out. What is still wrong: a CPU's bandwidth.
#pragma once

#include <algorithm>
#include <cstdint>

namespace transpose {

// out[c][r] = in[r][c], in: rows x cols. Host pointers, row-major, dense.
inline void transpose_openmp(const float* in, float* out, std::int64_t rows, std::int64_t cols) {
  constexpr std::int64_t kTile = 32;
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t r0 = 0; r0 < rows; r0 += kTile) {
    for (std::int64_t c0 = 0; c0 < cols; c0 += kTile) {
      for (std::int64_t c = c0; c < std::min(cols, c0 + kTile); ++c) {
        for (std::int64_t r = r0; r < std::min(rows, r0 + kTile); ++r) {
          out[c * rows + r] = in[r * cols + c];
        }
      }
    }
  }
}

}  // namespace transpose
