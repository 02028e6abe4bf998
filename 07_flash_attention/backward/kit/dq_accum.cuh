// dQ in fp32, where blocks add it up, and the last kernel, which rounds it and puts its elements
// where they belong. It lies in one of three orders: in the order in which registers of a warpgroup
// hold it (parts); as fragments of the warps; or row by row.
//
// A fragment is 16 queries and 8 columns, 128 floats without gaps, four of each lane, as an
// accumulator of mma.sync or wgmma spreads them over a warp: two neighbouring columns of query lane
// / 4 of the 16, and the same columns of the query eight below. So a warp adds to 512 bytes that
// lie side by side. A part, of a warpgroup that multiplies by wgmma, is 64 queries and
// Tile::kDqCols columns, kDqPart floats: for each eight columns the fragments of its four warps.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/backward/kit/row_stats.cuh"
#include "07_flash_attention/backward/shape.hpp"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/ptx/mma.cuh"
#include "common/kit/toolkit.cuh"

namespace backward {

// Adds a warp's accumulator to a fragment. Before sm_90 one float of each lane at a time, and these
// lie side by side; from there on all four of a lane do.
__device__ __forceinline__ void add_to_fragment(float* fragment, const float (&x)[4]) {
  const int lane = threadIdx.x % 32;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  kit::add_four(reinterpret_cast<float4*>(fragment) + lane, make_float4(x[0], x[1], x[2], x[3]));
#else
#pragma unroll
  for (int i = 0; i < 4; ++i) atomicAdd(fragment + 32 * i + lane, x[i]);
#endif
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
// This lane's four floats of a fragment, that nobody will need again. A warp reads 512 bytes that
// lie side by side.
__device__ __forceinline__ float4 read_fragment(const float* fragment) {
  const int lane = threadIdx.x % 32;
#if __CUDA_ARCH__ >= 900
  return __ldcs(reinterpret_cast<const float4*>(fragment) + lane);
#else
  return make_float4(__ldcs(fragment + lane), __ldcs(fragment + 32 + lane),
                     __ldcs(fragment + 64 + lane), __ldcs(fragment + 96 + lane));
#endif
}

// Transposes the 4 x 4 numbers of four neighbouring lanes: x[i] of lane j becomes x[j] of lane i.
__device__ __forceinline__ void transpose_four(std::uint32_t (&x)[4]) {
#pragma unroll
  for (int bit = 1; bit < 4; bit *= 2) {
    const bool upper = threadIdx.x & bit;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (i & bit) continue;
      // A lane keeps one of the two, and exchanges the other one.
      const std::uint32_t other = __shfl_xor_sync(0xffffffff, upper ? x[i] : x[i | bit], bit);
      (upper ? x[i] : x[i | bit]) = other;
    }
  }
}

// Rounds four fragments that are neighbours in dQ, 16 queries and 32 columns, to their places; by a
// warp. Two columns of every fragment are with each of four neighbouring lanes; after a
// transposition a lane has all eight of one fragment, and writes 16 bytes. first: the fragment of
// the lowest columns, the next one begins `stride` floats behind it; head: its first row of dQ,
// aligned to 16 bytes; (row, col): where the first fragment begins.
template <int kD, class T>
__device__ __forceinline__ void store_fragments(T* head, const float* first, int stride, int row,
                                                int col, int n_q, float factor) {
  const int lane = threadIdx.x % 32;
  float4 x[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) x[i] = read_fragment(first + i * stride);
  std::uint32_t upper[4], lower[4];  // queries lane / 4 of the 16, and those eight below
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    upper[i] = ptx::pack<T>(factor * x[i].x, factor * x[i].y);
    lower[i] = ptx::pack<T>(factor * x[i].z, factor * x[i].w);
  }
  transpose_four(upper);
  transpose_four(lower);
  row += lane / 4;
  T* to = head + std::int64_t{row} * kD + col + lane % 4 * 8;
  if (row < n_q) {
    *reinterpret_cast<uint4*>(to) = make_uint4(upper[0], upper[1], upper[2], upper[3]);
  }
  if (row + 8 < n_q) {
    *reinterpret_cast<uint4*>(to + 8 * kD) = make_uint4(lower[0], lower[1], lower[2], lower[3]);
  }
}
#endif

template <class Tile>
struct DqAccum {
  // Parts count through the tiles of all heads: two per tile. This is warpgroup w's of the tile
  // that begins at `first_row` of a head; and where it lies.
  static __device__ __forceinline__ std::int64_t number(const RowStats& rows, std::int64_t head,
                                                        int first_row, int w) {
    static_assert(2 * Tile::kDqPart == Tile::kTileM * Tile::kD);
    return (head * rows.pitch + first_row) / Tile::kTileM * 2 + w;
  }
  static __device__ __forceinline__ float* of(const RowStats& rows, std::int64_t head,
                                              int first_row, int w) {
    return rows.dq_accum + number(rows, head, first_row, w) * Tile::kDqPart;
  }

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  // region add
  // Adds a warpgroup's registers to its part, four floats of a thread with one instruction.
  static __device__ __forceinline__ void add(float* part, const float (&dq)[Tile::kDqCols / 2]) {
    auto* to = reinterpret_cast<float4*>(part) + threadIdx.x % 128;
#pragma unroll
    for (int i = 0; i < Tile::kDqCols / 2; i += 4) {
      kit::add_four(to + i / 4 * 128, make_float4(dq[i], dq[i + 1], dq[i + 2], dq[i + 3]));
    }
  }
  // endregion
#endif
};

// A block for each part.
template <class Tile, class T>
__device__ void finish_dq_part(const RowStats& rows, T* dq, int n_q, float scale) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  const int tiles = rows.pitch / Tile::kTileM, w = blockIdx.x % 2;  // tiles: of a head
  const std::int64_t head = blockIdx.x / 2 / tiles;
  const int first_row = static_cast<int>(blockIdx.x / 2 % tiles) * Tile::kTileM;
  const float* part = DqAccum<Tile>::of(rows, head, first_row, w);
  // The fragments of the warpgroup's four warps alternate; a warp here has four of one of them.
  for (int i = threadIdx.x / 32; i < Tile::kDqPart / 512; i += kRowThreads / 32) {
    const int warp = i % 4, group = i / 4 * 4;
    const int row = first_row + Tile::dq_row(w) + 16 * warp, col = Tile::dq_col(w) + 8 * group;
    store_fragments<Tile::kD>(dq + head * n_q * Tile::kD, part + (4 * group + warp) * 128, 4 * 128,
                              row, col, n_q, scale);
  }
#endif
}
template <class Tile>
__global__ void __launch_bounds__(kRowThreads)
    finish_dq_parts_kernel(RowStats rows, typename Tile::Element* dq, int n_q, float scale) {
  finish_dq_part<Tile>(rows, dq, n_q, scale);
}

// dQ = dq_accum / sqrt(d)
template <class Tile>
void finish_dq_parts(const Arguments<typename Tile::Element>& args, cudaStream_t stream) {
  const auto parts = args.shape.all_heads() * args.rows.pitch / Tile::kTileM * 2;
  finish_dq_parts_kernel<Tile><<<static_cast<unsigned>(parts), kRowThreads, 0, stream>>>(
      args.rows, args.dq, args.shape.n_q, args.shape.scale());
  CUDA_CHECK(cudaGetLastError());
}

// Where the fragment of a query and a column lies. Fragments go through the columns of 16 queries,
// then of the next 16, one padded head after the other.
template <int kD>
__device__ __forceinline__ float* fragment_of(const RowStats& rows, std::int64_t head, int row,
                                              int col) {
  return rows.dq_accum + (head * rows.pitch + row) * kD + col * 16;
}

// A block for each 64 queries.
template <class T, int kD>
__global__ void __launch_bounds__(kRowThreads)
    finish_dq_fragments_kernel(RowStats rows, T* dq, int n_q, float scale) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  const int tiles = rows.pitch / 64;  // of a head
  const std::int64_t head = blockIdx.x / tiles;
  const int first_row = static_cast<int>(blockIdx.x % tiles) * 64;
#pragma unroll
  for (int i = threadIdx.x / 32; i < kD / 8; i += kRowThreads / 32) {
    const int row = first_row + i / (kD / 32) * 16, col = i % (kD / 32) * 32;
    store_fragments<kD>(dq + head * n_q * kD, fragment_of<kD>(rows, head, row, col), 128, row, col,
                        n_q, scale);
  }
#endif
}

// dQ = dq_accum / sqrt(d)
template <int kD, class T>
void finish_dq_fragments(const Arguments<T>& args, cudaStream_t stream) {
  const auto& shape = args.shape;
  const auto blocks = static_cast<unsigned>(shape.all_heads() * args.rows.pitch / 64);
  finish_dq_fragments_kernel<T, kD>
      <<<blocks, kRowThreads, 0, stream>>>(args.rows, args.dq, shape.n_q, shape.scale());
  CUDA_CHECK(cudaGetLastError());
}

template <class T>
__global__ void __launch_bounds__(kRowThreads)
    finish_dq_kernel(RowStats rows, T* dq, std::int64_t count, int n_q, int d, float scale) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kRowThreads + threadIdx.x;
  if (i >= count) return;
  const std::int64_t row = i / d, padded = row / n_q * rows.pitch + row % n_q;
  dq[i] = T(scale * rows.dq_accum[padded * d + i % d]);
}

// dQ = dq_accum / sqrt(d)
template <class T>
void finish_dq(const Arguments<T>& args, cudaStream_t stream) {
  const Shape& shape = args.shape;
  const std::int64_t count = shape.rows() * shape.d;
  const int blocks = kit::divide_up(count, kRowThreads);
  finish_dq_kernel<<<blocks, kRowThreads, 0, stream>>>(args.rows, args.dq, count, shape.n_q,
                                                       shape.d, shape.scale());
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace backward
