// stream_k: all SMs work to the end.
//
// 4096 x 4096 elements are 512 tiles: three waves of 132, one for each SM, and a fourth of 116, in
// which 16 SMs have nothing to do. Here only the full waves are computed tile by tile. The k tiles
// of the last wave, those of one tile after those of the other, are cut into as many equal parts as
// there are SMs. A part begins and ends anywhere in a tile and adds what it has of it to C, which
// was set to zero there: "Stream-K" (M. Osama et al., PPoPP 2023). No block waits for another. What
// is still wrong: in the loop every warp copies, multiplies and waits for all others.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/kit/grouped_tiles.cuh"
#include "04_matmul/kit/tile_origin.cuh"
#include "04_matmul/sgemm/kit/add_four.cuh"
#include "04_matmul/sgemm/kit/edges.cuh"
#include "04_matmul/sgemm/kit/multiply_tile.cuh"
#include "04_matmul/sgemm/kit/pinned_loads.cuh"
#include "04_matmul/sgemm/kit/stream_k_plan.cuh"
#include "04_matmul/sgemm/kit/thread_tile.cuh"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"

namespace matmul::sgemm {

// Operands whose loads stay where they are written; in this kernel the compiler would move them.
template <class T>
struct PinnedOperands {
  float a[T::kThreadM], b[T::kThreadN];

  __device__ void load(const float* stage, int q, ThreadTile<T> mine) {
    load_b(stage + T::kTileK * T::kPitchA + q * T::kTileN, mine);
    load_a(stage + q * T::kPitchA, mine);
  }
  __device__ void load_a(const float* from, ThreadTile<T> mine) {
#pragma unroll
    for (int r = 0; r < T::kThreadM; r += 4) load_four_pinned(&a[r], from + mine.row_of(r));
  }
  __device__ void load_b(const float* from, ThreadTile<T> mine) {
#pragma unroll
    for (int s = 0; s < T::kThreadN; s += 4) load_four_pinned(&b[s], from + mine.col_of(s));
  }

  __device__ void multiply(float (&acc)[T::kThreadM][T::kThreadN]) const {
#pragma unroll
    for (int s = 0; s < T::kThreadN; ++s) {
#pragma unroll
      for (int r = 0; r < T::kThreadM; ++r) acc[r][s] += a[r] * b[s];
    }
  }
};

// The full waves: one block per tile.
template <class T, bool kVectorsA, bool kVectorsB>
__global__ void __launch_bounds__(T::kThreads, T::kMinBlocksPerSm)
    sgemm_stream_k_whole_kernel(const float* a, const float* b, float* c, int m, int n, int k) {
  const TileOrigin tile = grouped_tile<T::kTileM, T::kTileN>(m, n);
  const ThreadTile<T> mine;
  float acc[T::kThreadM][T::kThreadN] = {};
  multiply_tile<T, kVectorsA, kVectorsB>(a, b, m, n, k, 0, k, tile, mine, acc);
#pragma unroll
  for (int r = 0; r < T::kThreadM; ++r) {
#pragma unroll
    for (int s = 0; s < T::kThreadN; s += 4) {
      store_four<kVectorsB>(c, tile.row + mine.row_of(r), tile.col + mine.col_of(s), m, n,
                            &acc[r][s]);
    }
  }
}

// The rest: one block per part.
template <class T, bool kVectorsA, bool kVectorsB>
__global__ void __launch_bounds__(T::kThreads, T::kMinBlocksPerSm)
    sgemm_stream_k_kernel(const float* a, const float* b, float* c, int m, int n, int k,
                          StreamKPlan plan) {
  const int part = static_cast<int>(blockIdx.x);
  const std::int64_t last = plan.begin(part + 1);
  std::int64_t first = plan.begin(part);
#pragma unroll 1
  while (first != last) {  // tile after tile
    const SharedTile shared = plan.tile_at(first, last);
    const auto k_end = static_cast<int>(
        min(std::int64_t{k}, std::int64_t{shared.begin + shared.count} * T::kTileK));
    const TileOrigin tile = grouped_tile<T::kTileM, T::kTileN>(m, n, shared.tile);
    const ThreadTile<T> mine;
    float acc[T::kThreadM][T::kThreadN] = {};
    multiply_tile<T, kVectorsA, kVectorsB, PinnedOperands<T>>(
        a, b, m, n, k, shared.begin * T::kTileK, k_end, tile, mine, acc);
    // Other blocks have other parts of the same elements.
#pragma unroll
    for (int r = 0; r < T::kThreadM; ++r) {
#pragma unroll
      for (int s = 0; s < T::kThreadN; s += 4) {
        add_four<kVectorsB>(c, tile.row + mine.row_of(r), tile.col + mine.col_of(s), m, n,
                            &acc[r][s]);
      }
    }
    first += shared.count;
    __syncthreads();  // nobody reads the stages any more
  }
}

template <class T>
void launch_stream_k(const float* a, const float* b, float* c, int m, int n, int k,
                     StreamKPlan plan, cudaStream_t stream) {
  if (plan.parts > 0) clear_shared_tiles<T>(c, m, n, plan, stream);
  with_vectors(a, k, b, c, n, [&](auto vectors_a, auto vectors_b) {
    if (plan.whole > 0) {
      const auto kernel = sgemm_stream_k_whole_kernel<T, vectors_a, vectors_b>;
      kit::allow_shared(kernel, kStageBytes<T>);
      kernel<<<plan.whole, T::kThreads, kStageBytes<T>, stream>>>(a, b, c, m, n, k);
    }
    if (plan.parts > 0) {
      const auto kernel = sgemm_stream_k_kernel<T, vectors_a, vectors_b>;
      kit::allow_shared(kernel, kStageBytes<T>);
      kernel<<<plan.parts, T::kThreads, kStageBytes<T>, stream>>>(a, b, c, m, n, k, plan);
    }
    CUDA_CHECK(cudaGetLastError());
  });
}

// C = A B; A is m x k, B is k x n, C is m x n, all row-major. Device pointers; sizes up to 2e9.
inline void sgemm_stream_k(const float* a, const float* b, float* c, int m, int n, int k,
                           cudaStream_t stream) {
  const StreamKPlan plan = plan_stream_k<LargeTile>(m, n, k, kit::multiprocessor_count());
  launch_stream_k<LargeTile>(a, b, c, m, n, k, plan, stream);
}

}  // namespace matmul::sgemm
