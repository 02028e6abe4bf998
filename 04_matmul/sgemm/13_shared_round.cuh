// Rung 13, shared_round: all SMs work to the end.
//
// 4096 x 4096 elements are 512 tiles: three rounds of 132, one for each SM, and a fourth of 116, in
// which 16 SMs have nothing to do. Here rung 11's kernel computes the full rounds. The work of the
// last one, the steps of one tile's sums after those of the other, is cut into as many equal parts
// as there are SMs. A part begins and ends anywhere in a tile and adds what it has of it to C,
// which was set to zero there: the idea of "Stream-K" (M. Osama et al., PPoPP 2023). No block waits
// for another. C of less than a round of large tiles are left to rung 12.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/sgemm/12_split_sum.cuh"
#include "04_matmul/sgemm/tiles.cuh"
#include "common/cuda_check.cuh"

// A part of a tile's sums: the tile, the first turn, and how many.
struct SharedPiece {
  int tile;
  int begin, turns;
};

// Who computes what. The first `whole` tiles are computed as a whole. The others are counted in
// turns of the loop over the sum, T::kDepth steps each, and shared by `parts` blocks. 0 parts: no
// tile is shared.
struct Shares {
  int whole, parts;
  int turns;              // of a tile
  std::int64_t to_share;  // turns of all tiles that are left

  // The first turn of a part, counted from the first tile that is left. It ends where the next
  // part begins.
  __host__ __device__ std::int64_t begin(int part) const { return to_share * part / parts; }
  // What of the turns from `turn` on, up to `after`, lies in one tile.
  __device__ SharedPiece piece_at(std::int64_t turn, std::int64_t after) const {
    const int begin = static_cast<int>(turn % turns);
    return {whole + static_cast<int>(turn / turns), begin,
            static_cast<int>(min(std::int64_t{turns - begin}, after - turn))};
  }
};

template <class T>
Shares share_out(std::int64_t m, std::int64_t n, std::int64_t k, int multiprocessors) {
  const int tiles = tiles_of<T::kRows, T::kCols>(m, n), left = tiles % multiprocessors;
  const int turns = divide_up(k, T::kDepth);
  // Setting C to zero and adding to it take about as long as 10 turns of the whole chip.
  const std::int64_t idle = std::int64_t{multiprocessors - left} * turns;
  if (left == 0 || tiles < multiprocessors || idle < 10 * multiprocessors) {
    return {tiles, 0, turns, 0};
  }
  return {tiles - left, multiprocessors, turns, std::int64_t{left} * turns};
}

template <class T, bool kVectorsA, bool kVectorsB>
__global__ void __launch_bounds__(T::kThreads, T::kBlocks)
    sgemm_shared_round_kernel(const float* a, const float* b, float* c, int m, int n, int k,
                              Shares shares) {
  const int part = static_cast<int>(blockIdx.x);
  const std::int64_t last = shares.begin(part + 1);
  std::int64_t first = shares.begin(part);
#pragma unroll 1
  while (first != last) {  // tile after tile
    const SharedPiece piece = shares.piece_at(first, last);
    const auto end =
        static_cast<int>(min(std::int64_t{k}, std::int64_t{piece.begin + piece.turns} * T::kDepth));
    const TileOrigin tile = tile_in_bands<T::kRows, T::kCols>(m, n, piece.tile);
    const Place<T> place;
    float sum[T::kThreadRows][T::kThreadCols] = {};
    multiply_tile<T, kVectorsA, kVectorsB>(a, b, m, n, k, piece.begin * T::kDepth, end, tile, place,
                                           sum);
#pragma unroll
    for (int r = 0; r < T::kThreadRows; ++r) {
#pragma unroll
      for (int s = 0; s < T::kThreadCols; s += 4) {
        add_four<kVectorsB>(c, tile.row + place.row_of(r), tile.col + place.col_of(s), m, n,
                            &sum[r][s]);
      }
    }
    first += piece.turns;
    __syncthreads();  // nobody reads the ring any more
  }
}

// The same tiles. In this kernel the compiler would move plain loads.
template <class T>
using WithLoadsThatStay = Tiling<T::kRows, T::kCols, T::kWarpRows, T::kWarpCols, T::kBlocks, true>;

// Sets C to zero, from the first row of the band on in which the shared tiles begin; whole tiles
// are stored later.
template <class T>
void clear_shared_tiles(float* c, int m, int n, const Shares& shares, cudaStream_t stream) {
  const int band = shares.whole / (kBand * divide_up(n, T::kCols));
  const std::int64_t row = std::int64_t{band} * kBand * T::kRows;
  CUDA_CHECK(cudaMemsetAsync(c + row * n, 0, sizeof(float) * (m - row) * n, stream));
}

template <class T>
void launch_shared_round(const float* a, const float* b, float* c, int m, int n, int k,
                         Shares shares, cudaStream_t stream) {
  clear_shared_tiles<T>(c, m, n, shares, stream);
  if (shares.whole > 0) launch_tuned<T>(a, b, c, m, n, k, shares.whole, stream);
  with_vectors(a, k, b, c, n, [&](auto vectors_a, auto vectors_b) {
    const auto kernel = sgemm_shared_round_kernel<WithLoadsThatStay<T>, vectors_a, vectors_b>;
    allow_shared(kernel, T::kSharedBytes);
    kernel<<<shares.parts, T::kThreads, T::kSharedBytes, stream>>>(a, b, c, m, n, k, shares);
    CUDA_CHECK(cudaGetLastError());
  });
}

// C = A B; A is m x k, B is k x n, C is m x n, all row-major. Device pointers; sizes up to 2e9.
inline void sgemm_shared_round(const float* a, const float* b, float* c, int m, int n, int k,
                               cudaStream_t stream) {
  const Shares shares = share_out<LargeTiling>(m, n, k, multiprocessor_count());
  if (shares.parts > 0) {
    launch_shared_round<LargeTiling>(a, b, c, m, n, k, shares, stream);
  } else {
    sgemm_split_sum(a, b, c, m, n, k, stream);
  }
}
