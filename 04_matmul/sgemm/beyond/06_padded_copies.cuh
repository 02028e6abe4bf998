// padded_copies: rows of any length, at any address.
//
// TMA and float4 want rows that begin at multiples of 16 bytes. Where k or n is no multiple of
// four, A, B or both are copied first, to rows that end with zeros: A B does not change. C is
// stored where it lies, unless blocks share its tiles: only four floats are added as fast as one,
// so C has such rows then, too, and is copied back. Copies take as long as memory does, the product
// as long as the multipliers: one to twenty with 4097 x 4097 x 4097. What is still wrong: with a
// short k, or few columns, the copies take a larger share.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"

namespace matmul::sgemm {

constexpr int kFloatsOfLane = 16;  // which a lane copies at once
constexpr int kFloatsOfWarp = 32 * kFloatsOfLane;
constexpr int kCopyThreads = 256;

// A copy of `rows` rows of `cols` floats. Rows begin pitch_from and pitch_to floats apart; those of
// `to` are filled up to `width` floats with zeros.
struct CopyOfRows {
  const float* from;
  float* to;
  int rows, cols, pitch_from, pitch_to, width;

  // A warp copies a piece of a row.
  __host__ __device__ int pieces() const { return kit::divide_up(width, kFloatsOfWarp); }
  __host__ __device__ std::int64_t warps() const { return std::int64_t{rows} * pieces(); }
};

// Two copies in one launch; either may have no rows.
__global__ void __launch_bounds__(kCopyThreads)
    sgemm_copy_rows_kernel(CopyOfRows first, CopyOfRows second) {
  std::int64_t warp = (std::int64_t{blockIdx.x} * kCopyThreads + threadIdx.x) / 32;
  const bool is_second = warp >= first.warps();
  const CopyOfRows copy = is_second ? second : first;
  if (is_second) warp -= first.warps();
  if (warp >= copy.warps()) return;
  const std::int64_t row = warp / copy.pieces();
  const float* const from = copy.from + row * copy.pitch_from;
  float* const to = copy.to + row * copy.pitch_to;
  const int begin = static_cast<int>(warp % copy.pieces()) * kFloatsOfWarp + threadIdx.x % 32;

  // All loads of a lane are in flight before it stores.
  float held[kFloatsOfLane];
#pragma unroll
  for (int i = 0; i < kFloatsOfLane; ++i) {
    held[i] = begin + 32 * i < copy.cols ? from[begin + 32 * i] : 0;
  }
#pragma unroll
  for (int i = 0; i < kFloatsOfLane; ++i) {
    if (begin + 32 * i < copy.width) to[begin + 32 * i] = held[i];
  }
}

inline void copy_rows(const CopyOfRows& first, const CopyOfRows& second, cudaStream_t stream) {
  const std::int64_t warps = first.warps() + second.warps();
  if (warps == 0) return;
  sgemm_copy_rows_kernel<<<kit::divide_up(warps, kCopyThreads / 32), kCopyThreads, 0, stream>>>(
      first, second);
  CUDA_CHECK(cudaGetLastError());
}

// Which of the matrices get a copy, and how long the rows of the copies are: k and n, or the next
// multiple of 16 floats.
struct PaddedShape {
  bool copies_a, copies_b, copies_c;
  int m, n, k;             // as asked for
  int padded_n, padded_k;  // of a copy, or as asked for

  // Floats of memory that the copies need.
  std::int64_t floats() const {
    return (copies_a ? std::int64_t{m} * padded_k : 0) +
           (copies_b ? std::int64_t{k} * padded_n : 0) +
           (copies_c ? std::int64_t{m} * padded_n : 0);
  }
};
// shares_tiles: blocks share tiles of C.
inline PaddedShape padded_shape(const float* a, const float* b, const float* c, int m, int n, int k,
                                bool shares_tiles) {
  const auto padded = [](int x) { return kit::divide_up(x, 16) * 16; };
  const bool has_b = kit::has_vector_rows(b, n), has_c = kit::has_vector_rows(c, n);
  const bool has_a = kit::has_vector_rows(a, k), has_n = n % 4 == 0;
  return {!has_a, !has_b, !has_c && shares_tiles, m,
          n,      k,      has_n ? n : padded(n),  has_a ? k : padded(k)};
}

// C = A B, with the copies that `shape` asks for in `memory`: aligned to 16 bytes, shape.floats(),
// this product's until it is done. multiply(a, b, c, n) makes C, m x n, of A, whose rows have
// shape.padded_k floats, and of B, whose rows have shape.padded_n.
template <class Multiply>
void with_padded_copies(const PaddedShape& shape, const float* a, const float* b, float* c,
                        float* memory, cudaStream_t stream, Multiply multiply) {
  const auto place = [&](int rows, int pitch) {
    float* const at = memory;
    memory += std::int64_t{rows} * pitch;
    return at;
  };
  const auto copy = [&](const float* from, int rows, int cols, int pitch) -> CopyOfRows {
    return {from, place(rows, pitch), rows, cols, cols, pitch, pitch};
  };
  CopyOfRows of_a = {}, of_b = {};
  if (shape.copies_a) of_a = copy(a, shape.m, shape.k, shape.padded_k);
  if (shape.copies_b) of_b = copy(b, shape.k, shape.n, shape.padded_n);
  float* const to = shape.copies_c ? place(shape.m, shape.padded_n) : c;
  copy_rows(of_a, of_b, stream);
  multiply(shape.copies_a ? of_a.to : a, shape.copies_b ? of_b.to : b, to,
           shape.copies_c ? shape.padded_n : shape.n);
  if (shape.copies_c) {
    copy_rows({to, c, shape.m, shape.n, shape.padded_n, shape.n, shape.n}, {}, stream);
  }
}

}  // namespace matmul::sgemm
