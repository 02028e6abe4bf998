// A tile of Q, K or V goes to shared memory by way of registers.
#pragma once

#include <cuda_runtime.h>

namespace attention {

// Copies kRows rows of Tile::kD floats, from row `first` on, of a matrix of `rows` rows, 16 bytes
// at a time; past the last, zeros.
template <class Tile, int kRows, int kPitch>
__device__ void load_tile(float (&to)[kRows][kPitch], const float* from, int first, int rows) {
  for (int i = threadIdx.x; i < kRows * Tile::kD / 4; i += Tile::kThreads) {
    const int row = i / (Tile::kD / 4), col = i % (Tile::kD / 4) * 4;
    float4 four = make_float4(0, 0, 0, 0);
    if (first + row < rows) {
      four = *reinterpret_cast<const float4*>(from + (first + row) * Tile::kD + col);
    }
    *reinterpret_cast<float4*>(&to[row][col]) = four;
  }
}

}  // namespace attention
