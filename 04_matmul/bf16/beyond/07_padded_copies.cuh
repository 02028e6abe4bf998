// padded_copies: rows of any length, at any address.
//
// TMA wants rows that begin at multiples of 16 bytes. With an odd number of elements one row in
// eight does. So what does not fit is copied first, A, B or both in one launch, to rows that begin
// on lines of the L2 cache; that costs a tenth of a product of 4096, and its tiles then come faster
// than from rows that just fit. C needs no copy: where TMA cannot store it, the threads do, from
// where it was staged for TMA. What is still wrong: the tensor cores wait for the copies, and thin
// products take less time than these.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <utility>

#include "04_matmul/kit/cluster.cuh"
#include "04_matmul/kit/gemm_tile.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/ptx/grid.cuh"

namespace matmul::bf16 {

constexpr int kChunk = 8;         // elements in 16 bytes
constexpr int kChunksOfLane = 4;  // which a lane copies at once
constexpr int kChunksOfWarp = 32 * kChunksOfLane;
constexpr int kCopyThreads = 256;

// A copy of `rows` rows of `cols` elements. Rows of `to` begin at multiples of 16 bytes, and have
// room for whole chunks.
struct CopyOfRows {
  Rows<const __nv_bfloat16> from;
  Rows<__nv_bfloat16> to;
  int rows, cols;

  // A warp copies a piece of a row.
  __host__ __device__ int pieces() const { return kit::divide_up(cols, kChunk * kChunksOfWarp); }
  __host__ __device__ std::int64_t warps() const { return std::int64_t{rows} * pieces(); }
};

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
// Eight elements of a row, from element i on, where i * 2 is a multiple of 16 bytes; zeros for what
// is not of the row.
__device__ inline uint4 chunk_of_row(const __nv_bfloat16* row, int i, int cols) {
  if (i >= 0 && i + kChunk <= cols) return *reinterpret_cast<const uint4*>(row + i);
  alignas(16) __nv_bfloat16 values[kChunk];
#pragma unroll
  for (int j = 0; j < kChunk; ++j) {
    values[j] = i + j >= 0 && i + j < cols ? row[i + j] : __ushort_as_bfloat16(0);
  }
  return *reinterpret_cast<const uint4*>(values);
}

// Elements kAhead .. kAhead + 7 of the sixteen of two chunks.
template <int kAhead>
__device__ inline uint4 cut_out(const uint4& left, const uint4& right) {
  const std::uint32_t words[9] = {left.x,  left.y,  left.z,  left.w, right.x,
                                  right.y, right.z, right.w, 0};
  std::uint32_t out[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int at = kAhead / 2 + i;
    out[i] = kAhead % 2 == 0 ? words[at] : __byte_perm(words[at], words[at + 1], 0x5432);
  }
  return make_uint4(out[0], out[1], out[2], out[3]);
}

// Copies kChunksOfLane chunks of a row that begins kAhead elements after a multiple of 16 bytes:
// each is cut out of two that are loaded whole.
template <int kAhead>
__device__ inline void copy_piece(const __nv_bfloat16* from, __nv_bfloat16* to, int first,
                                  int cols) {
  uint4 left[kChunksOfLane], right[kChunksOfLane];
#pragma unroll
  for (int i = 0; i < kChunksOfLane; ++i) {
    const int at = (first + 32 * i) * kChunk - kAhead;
    left[i] = chunk_of_row(from, at, cols);
    if (kAhead > 0) right[i] = chunk_of_row(from, at + kChunk, cols);  // often in the L1 cache
  }
#pragma unroll
  for (int i = 0; i < kChunksOfLane; ++i) {
    const int at = (first + 32 * i) * kChunk;
    if (at < cols) *reinterpret_cast<uint4*>(to + at) = cut_out<kAhead>(left[i], right[i]);
  }
}

// Calls visit(std::integral_constant<int, value>) for a value from 0 to 7.
template <class Visit>
__device__ inline void with_constant(int value, Visit visit) {
  switch (value) {
    case 0: return visit(std::integral_constant<int, 0>());
    case 1: return visit(std::integral_constant<int, 1>());
    case 2: return visit(std::integral_constant<int, 2>());
    case 3: return visit(std::integral_constant<int, 3>());
    case 4: return visit(std::integral_constant<int, 4>());
    case 5: return visit(std::integral_constant<int, 5>());
    case 6: return visit(std::integral_constant<int, 6>());
    default: return visit(std::integral_constant<int, 7>());
  }
}
#endif

// Two copies in one launch; the second may have no rows.
__global__ void __launch_bounds__(kCopyThreads)
    bf16_gemm_tight_rows_kernel(const __grid_constant__ CopyOfRows a,
                                const __grid_constant__ CopyOfRows b) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  // The product's blocks may take their places; the one before may still read the copies.
  ptx::griddepcontrol_launch_dependents();
  ptx::griddepcontrol_wait();
  std::int64_t warp = (std::int64_t{blockIdx.x} * kCopyThreads + threadIdx.x) / 32;
  const bool is_b = warp >= a.warps();
  const CopyOfRows& copy = is_b ? b : a;
  if (is_b) warp -= a.warps();
  if (warp >= copy.warps()) return;
  const int row = static_cast<int>(warp / copy.pieces());
  const int piece = static_cast<int>(warp % copy.pieces());
  const __nv_bfloat16* const from = copy.from.data + row * copy.from.pitch;
  __nv_bfloat16* const to = copy.to.data + row * copy.to.pitch;
  const int first = piece * kChunksOfWarp + static_cast<int>(threadIdx.x) % 32;
  with_constant(static_cast<int>(reinterpret_cast<std::uintptr_t>(from) / 2 % kChunk),
                [&](auto ahead) { copy_piece<ahead>(from, to, first, copy.cols); });
#else
  (void)a, (void)b;
#endif
}

// Launches both copies. The kernel that comes next may start before they are done: it waits.
inline void copy_tight(const CopyOfRows& a, const CopyOfRows& b, cudaStream_t stream) {
  const std::int64_t warps = a.warps() + b.warps();
  launch_clusters<bf16_gemm_tight_rows_kernel>(Start::programmatic,
                                               kit::divide_up(warps, kCopyThreads / 32), 1,
                                               kCopyThreads, 0, stream, a, b);
}

// Elements of such a copy. Its rows begin at multiples of 128 bytes, so that a row of a tile is one
// line of the L2 cache: TMA would take 16, and read up to 1.7 times as much.
inline std::int64_t tight_elements(std::int64_t rows, std::int64_t cols) {
  return rows * (kit::divide_up(cols, kRowBytes / 2) * std::int64_t{kRowBytes / 2});
}

// Whether TMA can take these rows.
template <class T>
bool is_tight(const Rows<T>& x) {
  return kit::has_vector_rows(x.data, x.pitch);
}

// Whether TMA can store rows of n elements: it writes whole chunks of 16 bytes, also at their ends.
inline bool can_store(const Rows<__nv_bfloat16>& c, int n) { return is_tight(c) && n % 8 == 0; }

// Elements of memory that the copies of A and B need, at most.
template <bool kTransposedB>
std::int64_t padded_elements(const Operands& x, int m, int n, int k) {
  return (is_tight(x.a) ? 0 : tight_elements(m, k)) + (is_tight(x.b)  ? 0
                                                       : kTransposedB ? tight_elements(n, k)
                                                                      : tight_elements(k, n));
}

// The same operands with A and B as TMA can take them: copies where they are not, in `memory`,
// which is aligned to 16 bytes, has room for padded_elements() and is this product's until it is
// done.
template <bool kTransposedB>
Operands with_tight_rows(Operands x, int m, int n, int k, __nv_bfloat16* memory,
                         cudaStream_t stream) {
  CopyOfRows copies[2] = {};
  const auto replace = [&](Rows<const __nv_bfloat16>& matrix, CopyOfRows& copy, int rows,
                           int cols) {
    if (is_tight(matrix)) return;
    copy = {matrix, {memory, tight_elements(1, cols)}, rows, cols};
    memory += tight_elements(rows, cols);
    matrix = {copy.to.data, copy.to.pitch};
  };
  replace(x.a, copies[0], m, k);
  replace(x.b, copies[1], kTransposedB ? n : k, kTransposedB ? k : n);
  if (copies[0].rows + copies[1].rows > 0) copy_tight(copies[0], copies[1], stream);
  return x;
}

}  // namespace matmul::bf16
