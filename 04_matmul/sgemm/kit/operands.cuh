// What a thread multiplies for one k: a column of A's tile and a row of B's, as far as they are its
// own, in registers.
#pragma once

#include <cuda_runtime.h>

#include "04_matmul/sgemm/kit/edges.cuh"
#include "04_matmul/sgemm/kit/thread_tile.cuh"

namespace matmul::sgemm {

// How operands are loaded and multiplied decides what the compiler makes of the whole loop.
template <class T>
struct Operands {
  float a[T::kThreadM], b[T::kThreadN];

  // Of the q-th k of a stage: A's transposed tile and B's behind it.
  __device__ void load(const float* stage, int q, ThreadTile<T> mine) {
    load_a(stage + q * T::kPitchA, mine);
    load_b(stage + T::kTileK * T::kPitchA + q * T::kTileN, mine);
  }
  __device__ void load_a(const float* from, ThreadTile<T> mine) {
#pragma unroll
    for (int r = 0; r < T::kThreadM; r += 4) load_four(&a[r], from + mine.row_of(r));
  }
  __device__ void load_b(const float* from, ThreadTile<T> mine) {
#pragma unroll
    for (int s = 0; s < T::kThreadN; s += 4) load_four(&b[s], from + mine.col_of(s));
  }

  // Adds the outer product of a and b.
  __device__ void multiply(float (&acc)[T::kThreadM][T::kThreadN]) const {
#pragma unroll
    for (int r = 0; r < T::kThreadM; ++r) {
#pragma unroll
      for (int s = 0; s < T::kThreadN; ++s) acc[r][s] += a[r] * b[s];
    }
  }
};

}  // namespace matmul::sgemm
