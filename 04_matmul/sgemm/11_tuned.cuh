// Rung 11, tuned: 16 x 8 sums a thread, and no step ever waits for its operands.
//
// A thread loads 24 values for 128 multiply-adds, half as many each as before, and loads them one
// step ahead, into a second set of registers: a warp multiplies while its next operands are on
// their way from shared memory, where a ring of tiles is filled further ahead still. All sizes take
// the same loop: rows and columns past the edge are copies of the last one, whose sums nobody
// stores, and what does not fill a whole step of the sum comes first, padded with zeros. What is
// still wrong: 128 x 256 elements a tile leave most SMs without work when C is small.
#pragma once

#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/sgemm/tiles.cuh"
#include "04_matmul/sgemm/tiling.cuh"
#include "common/cuda_check.cuh"

// What a thread multiplies in one step. How it is loaded and multiplied decides what the compiler
// makes of the whole loop; with kLoadsStay it may not move the loads.
template <class T>
struct Operands {
  float a[T::kThreadRows], b[T::kThreadCols];

  __device__ void load(const float* stage, int q, Place<T> place) {
    const float* from_a = stage + q * T::kPitchA;
    const float* from_b = stage + T::kDepth * T::kPitchA + q * T::kCols;
    const auto load = [](float* to, const float* from) {
      T::kLoadsStay ? load_four_now(to, from) : load_four(to, from);
    };
    const auto load_b = [&] {
#pragma unroll
      for (int s = 0; s < T::kThreadCols; s += 4) load(&b[s], from_b + place.col_of(s));
    };
    if (T::kLoadsStay) load_b();
#pragma unroll
    for (int r = 0; r < T::kThreadRows; r += 4) load(&a[r], from_a + place.row_of(r));
    if (!T::kLoadsStay) load_b();
  }

  __device__ void multiply(float (&sum)[T::kThreadRows][T::kThreadCols]) const {
    if constexpr (T::kLoadsStay) {
#pragma unroll
      for (int s = 0; s < T::kThreadCols; ++s) {
#pragma unroll
        for (int r = 0; r < T::kThreadRows; ++r) sum[r][s] += a[r] * b[s];
      }
    } else {
#pragma unroll
      for (int r = 0; r < T::kThreadRows; ++r) {
#pragma unroll
        for (int s = 0; s < T::kThreadCols; ++s) sum[r][s] += a[r] * b[s];
      }
    }
  }
};

// sum = the tile of C at `tile`, as far as the sum's steps begin .. end - 1 contribute to it. With
// kVectorsA, begin and end are multiples of 4.
template <class T, bool kVectorsA, bool kVectorsB>
__device__ __forceinline__ void multiply_tile(const float* a, const float* b, int m, int n, int k,
                                              int begin, int end, TileOrigin tile, Place<T> place,
                                              float (&sum)[T::kThreadRows][T::kThreadCols]) {
  extern __shared__ float4 shared[];
  float* const ring = reinterpret_cast<float*>(shared);
  const auto after = [](int stage) { return stage == 2 * T::kStage ? 0 : stage + T::kStage; };

  // Two of the three stages are filled ahead.
  const int rounds = divide_up(end - begin, T::kDepth);
  Copier<T, kVectorsA, kVectorsB> copier(a, b, m, n, k, begin, tile);
  copier.template order<true>(ring, end - begin - (rounds - 1) * T::kDepth);
  copier.store();
  if (rounds > 1) {
    copier.template order<false>(ring + T::kStage, T::kDepth);
    copier.store();
  }
  __pipeline_wait_prior(0);
  __syncthreads();

  Operands<T> operands[2];
  int stage = 0, free = 2 * T::kStage;  // in the ring: the stage in use, and the one to fill next
  operands[0].load(ring, 0, place);
#pragma unroll 1
  for (int round = 0; round < rounds; ++round) {
    const bool more = round + 2 < rounds;
    if (more) copier.template order<false>(ring + free, T::kDepth);
#pragma unroll
    for (int q = 0; q < T::kDepth; ++q) {
      if (q == T::kDepth - 1) {
        if (more) copier.store();
        __pipeline_wait_prior(0);  // ordered at the round's start
        __syncthreads();           // the next stages are complete, and this one is free
        if (round + 1 < rounds) stage = after(stage);
        free = after(free);
      }
      operands[(q + 1) % 2].load(ring + stage, (q + 1) % T::kDepth, place);
      operands[q % 2].multiply(sum);
    }
  }
}

template <class T, bool kVectorsA, bool kVectorsB>
__global__ void __launch_bounds__(T::kThreads, T::kBlocks)
    sgemm_tuned_kernel(const float* a, const float* b, float* c, int m, int n, int k) {
  const TileOrigin tile = tile_in_bands<T::kRows, T::kCols>(m, n);
  const Place<T> place;
  float sum[T::kThreadRows][T::kThreadCols] = {};
  multiply_tile<T, kVectorsA, kVectorsB>(a, b, m, n, k, 0, k, tile, place, sum);
#pragma unroll
  for (int r = 0; r < T::kThreadRows; ++r) {
#pragma unroll
    for (int s = 0; s < T::kThreadCols; s += 4) {
      store_four<kVectorsB>(c, tile.row + place.row_of(r), tile.col + place.col_of(s), m, n,
                            &sum[r][s]);
    }
  }
}

// The first `tiles` tiles, in the order of tile_in_bands.
template <class T>
void launch_tuned(const float* a, const float* b, float* c, int m, int n, int k, int tiles,
                  cudaStream_t stream) {
  with_vectors(a, k, b, c, n, [&](auto vectors_a, auto vectors_b) {
    const auto kernel = sgemm_tuned_kernel<T, vectors_a, vectors_b>;
    allow_shared(kernel, T::kSharedBytes);
    kernel<<<tiles, T::kThreads, T::kSharedBytes, stream>>>(a, b, c, m, n, k);
    CUDA_CHECK(cudaGetLastError());
  });
}
template <class T>
void launch_tuned(const float* a, const float* b, float* c, int m, int n, int k,
                  cudaStream_t stream) {
  launch_tuned<T>(a, b, c, m, n, k, tiles_of<T::kRows, T::kCols>(m, n), stream);
}

using LargeTiling = Tiling<128, 256, 64, 64>;

// C = A B; A is m x k, B is k x n, C is m x n, all row-major. Device pointers; sizes up to 2e9.
inline void sgemm_tuned(const float* a, const float* b, float* c, int m, int n, int k,
                        cudaStream_t stream) {
  launch_tuned<LargeTiling>(a, b, c, m, n, k, stream);
}
