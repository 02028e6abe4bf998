// split_k: several blocks compute parts of the same tile.
//
// Where tiles are few and k is long, a tile's sum over k is cut into parts, one for each block. C
// is set to zero first, and each block adds what it has of its tile by atomic additions: their
// order, hence the rounding, differs from run to run. So many parts are made that each SM has four
// blocks, but none shorter than 64 k. What is still wrong: parts are whole blocks of work, and the
// last wave of them is as ragged as that of tiles; and a C that needs no splitting is zeroed and
// added to for nothing.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "04_matmul/kit/grouped_tiles.cuh"
#include "04_matmul/kit/tile_origin.cuh"
#include "04_matmul/sgemm/kit/add_four.cuh"
#include "04_matmul/sgemm/kit/edges.cuh"
#include "04_matmul/sgemm/kit/multiply_tile.cuh"
#include "04_matmul/sgemm/kit/thread_tile.cuh"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"

namespace matmul::sgemm {

// Block (x, y): tile x, and of its sum over k the `steps` products from y * steps on.
template <class T, bool kVectorsA, bool kVectorsB>
__global__ void __launch_bounds__(T::kThreads, T::kMinBlocksPerSm)
    sgemm_split_k_kernel(const float* a, const float* b, float* c, int m, int n, int k, int steps) {
  const TileOrigin tile = grouped_tile<T::kTileM, T::kTileN>(m, n);
  const int k_begin = static_cast<int>(blockIdx.y) * steps;
  const ThreadTile<T> mine;
  float acc[T::kThreadM][T::kThreadN] = {};
  multiply_tile<T, kVectorsA, kVectorsB>(a, b, m, n, k, k_begin, min(k, k_begin + steps), tile,
                                         mine, acc);
#pragma unroll
  for (int r = 0; r < T::kThreadM; ++r) {
#pragma unroll
    for (int s = 0; s < T::kThreadN; s += 4) {
      add_four<kVectorsB>(c, tile.row + mine.row_of(r), tile.col + mine.col_of(s), m, n,
                          &acc[r][s]);
    }
  }
}

template <class T>
void launch_split_k(const float* a, const float* b, float* c, int m, int n, int k, int parts,
                    cudaStream_t stream) {
  const int steps = divide_up(divide_up(k, parts), 4) * 4;  // so that float4 fit every part
  const dim3 grid(tile_count<T::kTileM, T::kTileN>(m, n), divide_up(k, steps));
  CUDA_CHECK(cudaMemsetAsync(c, 0, sizeof(float) * m * static_cast<std::int64_t>(n), stream));
  with_vectors(a, k, b, c, n, [&](auto vectors_a, auto vectors_b) {
    const auto kernel = sgemm_split_k_kernel<T, vectors_a, vectors_b>;
    kit::allow_shared(kernel, kStageBytes<T>);
    kernel<<<grid, T::kThreads, kStageBytes<T>, stream>>>(a, b, c, m, n, k, steps);
    CUDA_CHECK(cudaGetLastError());
  });
}

inline int choose_split_k_parts(std::int64_t m, std::int64_t n, std::int64_t k,
                                int multiprocessors) {
  using T = TinyTile;
  const std::int64_t tiles = tile_count<T::kTileM, T::kTileN>(m, n);
  const std::int64_t wanted = T::kMinBlocksPerSm * multiprocessors / tiles;
  return static_cast<int>(std::max<std::int64_t>(1, std::min<std::int64_t>(wanted, k / 64)));
}

// C = A B; A is m x k, B is k x n, C is m x n, all row-major. Device pointers; sizes up to 2e9.
inline void sgemm_split_k(const float* a, const float* b, float* c, int m, int n, int k,
                          cudaStream_t stream) {
  const int parts = choose_split_k_parts(m, n, k, kit::multiprocessor_count());
  launch_split_k<TinyTile>(a, b, c, m, n, k, parts, stream);
}

}  // namespace matmul::sgemm
