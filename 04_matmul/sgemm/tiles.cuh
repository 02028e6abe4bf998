// What the kernels of this chapter share: how C is cut into tiles, and loads that stop at the edge.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "common/alignment.hpp"
#include "common/launch.cuh"

using common::allow_shared;
using common::divide_up;
using common::multiprocessor_count;

// First element of the tile of C that this block computes. The grid is one-dimensional: its x
// direction has room for 2^31 blocks, the others only for 65535.
struct TileOrigin {
  int row, col;
};
template <int kTileRows, int kTileCols>
__device__ TileOrigin tile_of_block(int n) {
  const int tiles_across = divide_up(n, kTileCols);
  const int tile = static_cast<int>(blockIdx.x);
  return {tile / tiles_across * kTileRows, tile % tiles_across * kTileCols};
}
template <int kTileRows, int kTileCols>
int tiles_of(std::int64_t m, std::int64_t n) {
  return static_cast<int>(std::int64_t{divide_up(m, kTileRows)} * divide_up(n, kTileCols));
}

// Element (row, col) of a rows x cols matrix; outside of it, the 0 that changes no sum.
__device__ inline float at_or_zero(const float* x, int row, int col, int rows, int cols) {
  return row < rows && col < cols ? x[static_cast<std::int64_t>(row) * cols + col] : 0.0f;
}

// Whether float4 fits: rows of `cols` floats begin at multiples of 16 bytes.
inline bool has_vector_rows(const float* x, std::int64_t cols) {
  return cols % 4 == 0 && common::is_aligned_to_16(x);
}

// The four elements (row, col .. col + 3), zeros past the edge. kVectors: has_vector_rows(x, cols)
// holds and col is a multiple of 4, so a float4 is inside or outside as a whole.
template <bool kVectors>
__device__ inline float4 four_or_zero(const float* x, int row, int col, int rows, int cols) {
  if constexpr (kVectors) {
    if (row >= rows || col >= cols) return make_float4(0, 0, 0, 0);
    return *reinterpret_cast<const float4*>(x + static_cast<std::int64_t>(row) * cols + col);
  } else {
    return make_float4(at_or_zero(x, row, col, rows, cols), at_or_zero(x, row, col + 1, rows, cols),
                       at_or_zero(x, row, col + 2, rows, cols),
                       at_or_zero(x, row, col + 3, rows, cols));
  }
}

// Stores the four elements (row, col .. col + 3) as far as they are inside. kVectors as above.
template <bool kVectors>
__device__ inline void store_four(float* x, int row, int col, int rows, int cols,
                                  const float* values) {
  if (row >= rows || col >= cols) return;
  float* to = x + static_cast<std::int64_t>(row) * cols + col;
  if constexpr (kVectors) {
    *reinterpret_cast<float4*>(to) = make_float4(values[0], values[1], values[2], values[3]);
  } else {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (col + i < cols) to[i] = values[i];
    }
  }
}

// Four neighbours in shared memory with one load. `from` is aligned to 16 bytes.
__device__ inline void load_four(float* to, const float* from) {
  const float4 v = *reinterpret_cast<const float4*>(from);
  to[0] = v.x;
  to[1] = v.y;
  to[2] = v.z;
  to[3] = v.w;
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
// The same at this very place, from an address within shared memory: the compiler may move a plain
// load down to where its values are first used, and then they are waited for.
__device__ inline void load_four_now_at(float* to, std::uint32_t from) {
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3])
               : "r"(from)
               : "memory");
}
#endif

// From a pointer. Chips older than Hopper get the plain load.
__device__ inline void load_four_now(float* to, const float* from) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  load_four_now_at(to, static_cast<std::uint32_t>(__cvta_generic_to_shared(from)));
#else
  load_four(to, from);
#endif
}

// Calls launch(vectors_a, vectors_b) with std::true_type or std::false_type: whether float4 fits
// the rows of A (k floats), and those of B and C (n floats).
template <class Launch>
void with_vectors(const float* a, std::int64_t k, const float* b, const float* c, std::int64_t n,
                  Launch launch) {
  const auto with_a = [&](auto vectors_b) {
    has_vector_rows(a, k) ? launch(std::true_type{}, vectors_b)
                          : launch(std::false_type{}, vectors_b);
  };
  has_vector_rows(b, n) && has_vector_rows(c, n) ? with_a(std::true_type{})
                                                 : with_a(std::false_type{});
}

// The tile-th tile in an order in which tiles that are computed at the same time are a compact part
// of C: bands of 8 tile rows, and down each band's columns one after the other. They share their
// rows and columns in the L2 cache.
constexpr int kBand = 8;
template <int kTileRows, int kTileCols>
__device__ TileOrigin tile_in_bands(int m, int n, int tile) {
  const int tiles_down = divide_up(m, kTileRows), tiles_across = divide_up(n, kTileCols);
  const int band = tile / (kBand * tiles_across) * kBand;  // its first tile row
  const int height = min(kBand, tiles_down - band);
  const int within = tile - band * tiles_across;
  return {(band + within % height) * kTileRows, within / height * kTileCols};
}
// This block's.
template <int kTileRows, int kTileCols>
__device__ TileOrigin tile_in_bands(int m, int n) {
  return tile_in_bands<kTileRows, kTileCols>(m, n, static_cast<int>(blockIdx.x));
}
