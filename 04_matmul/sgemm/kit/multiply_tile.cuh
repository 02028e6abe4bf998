// The loop of `grouped_tiles` as a function, for a part of k: for the rungs beyond, which cut a
// product up in other ways.
#pragma once

#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include "04_matmul/kit/tile_origin.cuh"
#include "04_matmul/sgemm/kit/copy_async.cuh"
#include "04_matmul/sgemm/kit/thread_tile.cuh"

namespace matmul::sgemm {

// Of dynamic shared memory, for a block: three stages.
template <class T>
constexpr int kStageBytes = 3 * T::kStage * sizeof(float);

// acc = the tile of C, as far as the products of k_begin .. k_end - 1 contribute to it. With
// kVectorsA, k_begin and k_end are multiples of 4. OperandsOf: how operands are loaded.
template <class T, bool kVectorsA, bool kVectorsB, class OperandsOf = Operands<T>>
__device__ __forceinline__ void multiply_tile(const float* a, const float* b, int m, int n, int k,
                                              int k_begin, int k_end, TileOrigin tile,
                                              ThreadTile<T> mine,
                                              float (&acc)[T::kThreadM][T::kThreadN]) {
  extern __shared__ float4 shared[];
  float* const stages = reinterpret_cast<float*>(shared);
  const auto after = [](int stage) { return stage == 2 * T::kStage ? 0 : stage + T::kStage; };

  // Two of the three stages are filled ahead; what fills no whole k tile comes first.
  const int k_tiles = divide_up(k_end - k_begin, T::kTileK);
  TileCopy<T, kVectorsA, kVectorsB> copy(a, b, m, n, k, k_begin, tile);
  copy.template issue<true>(stages, k_end - k_begin - (k_tiles - 1) * T::kTileK);
  copy.store_a();
  if (k_tiles > 1) {
    copy.template issue<false>(stages + T::kStage, T::kTileK);
    copy.store_a();
  }
  __pipeline_wait_prior(0);
  __syncthreads();

  OperandsOf operands[2];
  int stage = 0,
      free = 2 * T::kStage;  // floats from `stages`: the one in use, and the next to fill
  operands[0].load(stages, 0, mine);
#pragma unroll 1
  for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
    // Nobody has read the free stage since the barrier of the k tile before.
    const bool more = k_tile + 2 < k_tiles;
    if (more) copy.template issue<false>(stages + free, T::kTileK);

#pragma unroll
    for (int q = 0; q < T::kTileK; ++q) {
      if (q == T::kTileK - 1) {
        if (more) copy.store_a();
        __pipeline_wait_prior(0);  // issued at the beginning of this k tile
        __syncthreads();           // the next stages are complete, and this one is free
        if (k_tile + 1 < k_tiles) stage = after(stage);
        free = after(free);
      }
      operands[(q + 1) % 2].load(stages + stage, (q + 1) % T::kTileK, mine);
      operands[q % 2].multiply(acc);
    }
  }
}

}  // namespace matmul::sgemm
