// dQ in fp32 as a sequence of fragments. A fragment is 16 queries and 8 columns, 128 floats without
// gaps, four of each lane, as an accumulator of mma.sync or wgmma spreads them over a warp: two
// neighbouring columns of query lane / 4 of the 16, and the same columns of the query eight below.
// So a warp adds to floats that lie side by side, wherever they belong; who rounds dQ at the end
// puts them there.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/backward/kit/row_facts.cuh"
#include "07_flash_attention/backward/shape.hpp"
#include "common/kit/check.cuh"
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

// Rounds two of a fragment's queries to their places in dQ: query `own`, below 8, and own + 8,
// eight columns each. So 16 bytes are written at once. head: its first row of dQ, aligned to 16
// bytes; (row, col): where the fragment begins.
template <int kD, class T>
__device__ __forceinline__ void store_rows(T* head, const float* fragment, int own, int row,
                                           int col, int n_q, float factor) {
  Piece<T, 8> upper, lower;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int lane = 4 * own + i;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    const float4 x = reinterpret_cast<const float4*>(fragment)[lane];
#else
    const float4 x =
        make_float4(fragment[lane], fragment[32 + lane], fragment[64 + lane], fragment[96 + lane]);
#endif
    upper.x[2 * i] = T(factor * x.x);
    upper.x[2 * i + 1] = T(factor * x.y);
    lower.x[2 * i] = T(factor * x.z);
    lower.x[2 * i + 1] = T(factor * x.w);
  }
  T* to = head + std::int64_t{row + own} * kD + col;
  if (row + own < n_q) *reinterpret_cast<Piece<T, 8>*>(to) = upper;
  if (row + own + 8 < n_q) *reinterpret_cast<Piece<T, 8>*>(to + 8 * kD) = lower;
}

// Where fragments go through the columns of 16 queries, then of the next 16, a head (padded) after
// the other: that of a query and a column.
template <int kD>
__device__ __forceinline__ float* fragment_of(const RowFacts& rows, std::int64_t head, int row,
                                              int col) {
  return rows.dq_sum + (head * rows.pitch + row) * kD + col * 16;
}

// A block 64 queries.
template <class T, int kD>
__global__ void __launch_bounds__(kRowThreads)
    finish_dq_fragments_kernel(RowFacts rows, T* dq, int n_q, float scale) {
  const int tiles = rows.pitch / 64;  // of a head
  const std::int64_t head = blockIdx.x / tiles;
  const int first_row = static_cast<int>(blockIdx.x % tiles) * 64;
#pragma unroll
  for (int i = threadIdx.x; i < 4 * kD; i += kRowThreads) {
    const int col = i % (kD / 8) * 8, own = i / (kD / 8) % 8, row = first_row + i / kD * 16;
    const float* fragment = fragment_of<kD>(rows, head, row, col);
    store_rows<kD>(dq + head * n_q * kD, fragment, own, row, col, n_q, scale);
  }
}

// dQ = dq_sum / sqrt(d)
template <int kD, class T>
void finish_dq_fragments(const Shape& shape, const Tensors<T>& t, const RowFacts& rows,
                         cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>(shape.all_heads() * rows.pitch / 64);
  finish_dq_fragments_kernel<T, kD>
      <<<blocks, kRowThreads, 0, stream>>>(rows, t.dq, shape.n_q, shape.scale());
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace backward
