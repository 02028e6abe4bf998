// How the rung for mma.sync cuts up its work, how its tiles come to shared memory, and its
// products.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/backward/kit/row_facts.cuh"
#include "07_flash_attention/backward/kit/steps.cuh"
#include "07_flash_attention/backward/shape.hpp"
#include "common/kit/ptx/mma.cuh"
#include "common/kit/swizzle.cuh"

namespace backward {

// A warp has 16 keys; where d is 256, two warps share 16 keys and each has half of the columns of
// dK and dV, as all of them would be more registers than a thread can have. For dQ a warp has 32
// queries.
template <int kD>
struct MmaTile {
  static constexpr int kWarps = 8, kThreads = 32 * kWarps;
  static constexpr int kSplit = kD == 256 ? 2 : 1;         // warps that share keys
  static constexpr int kCols = kD / kSplit;                // of dK and dV, a warp's
  static constexpr int kKeys = 16 * kWarps / kSplit;       // of a block
  static constexpr int kQueries = kD == 256 ? 32 : 64;     // of a step
  static constexpr int kDqGroups = kQueries / 32;          // of 32 queries
  static constexpr int kDqCols = kD * kDqGroups / kWarps;  // of dQ, a warp's
  static constexpr int kChunks = kD / 8;                   // of 16 bytes, a row's

  // Two buffers for what belongs to a step.
  struct Shared {
    uint4 k[kKeys * kChunks], v[kKeys * kChunks];
    uint4 q[2][kQueries * kChunks], d_o[2][kQueries * kChunks];
    uint4 ds[kKeys * kQueries / 8];  // dS^T: [key][query]
    float lse2[2][kQueries], mean[2][kQueries];
  };
};

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
// Issues the copy of kRows rows from row `first` of a head with n rows; zeros after the last. By
// kThreads threads.
template <int kChunks, int kRows, int kThreads, class T>
__device__ void copy_tile(uint4* tile, const T* head, int first, int n) {
  const auto* from = reinterpret_cast<const uint4*>(head) + std::int64_t{first} * kChunks;
#pragma unroll
  for (int i = threadIdx.x; i < kRows * kChunks; i += kThreads) {
    const int row = i / kChunks;
    ptx::cp_async_16(&tile[kit::swizzled_chunk<kChunks>(row, i % kChunks)], from + i,
                     first + row < n);
  }
}

// Issues the copies of the block's keys and values, of a head that begins at element `at`.
template <class Tile, class T>
__device__ void copy_keys(typename Tile::Shared& shared, const Tensors<T>& t, std::int64_t at,
                          int first_key, int n_k) {
  constexpr int kChunks = Tile::kChunks, kKeys = Tile::kKeys, kThreads = Tile::kThreads;
  copy_tile<kChunks, kKeys, kThreads>(shared.k, t.k + at, first_key, n_k);
  copy_tile<kChunks, kKeys, kThreads>(shared.v, t.v + at, first_key, n_k);
}

// Issues the copies of what a step needs to the one of two buffers that is the step's: Q and dO of
// its rows, their log-sum-exp and D.
template <class Tile, class T>
__device__ void copy_step(typename Tile::Shared& shared, const Tensors<T>& t, const RowFacts& rows,
                          const Steps<Tile>& steps, int step, int n_q) {
  constexpr int kChunks = Tile::kChunks, kQueries = Tile::kQueries, kThreads = Tile::kThreads;
  const std::int64_t head = steps.head(step);
  const int row = steps.first_row(step);
  const std::int64_t first = head * n_q * (8 * kChunks);
  copy_tile<kChunks, kQueries, kThreads>(shared.q[step % 2], t.q + first, row, n_q);
  copy_tile<kChunks, kQueries, kThreads>(shared.d_o[step % 2], t.d_o + first, row, n_q);
  copy_facts(shared, rows, steps, step);
}

// c = A B^T for a warp: A is 16 rows of a swizzled tile from row `first`, B all kRows rows of
// another, both with kChunks chunks a row. c: 16 x kRows.
template <class T, int kChunks, int kRows>
__device__ void multiply_transposed(float (&c)[kRows / 2], const uint4* a, int first,
                                    const uint4* b) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int k = 0; k < kChunks; k += 2) {  // 16 columns of both
    std::uint32_t of_a[4], of_b[4];
    ptx::ldmatrix_x4(of_a, &a[kit::swizzled_chunk<kChunks>(first + lane % 16, k + lane / 16)]);
#pragma unroll
    for (int j = 0; j < kRows / 16; ++j) {
      const int row = 16 * j + lane / 16 * 8 + lane % 8;
      ptx::ldmatrix_x4(of_b, &b[kit::swizzled_chunk<kChunks>(row, k + lane / 8 % 2)]);
      ptx::mma_m16n8k16<T>(ptx::four(&c[8 * j]), of_a, of_b[0], of_b[1]);
      ptx::mma_m16n8k16<T>(ptx::four(&c[8 * j + 4]), of_a, of_b[2], of_b[3]);
    }
  }
}

// c += A B for a warp: A, 16 x 16 kSteps, lies in registers; B is the same number of rows of a
// swizzled tile, and of their columns those from chunk `first` on. c: 16 x kCols.
template <class T, int kChunks, int kCols, int kSteps>
__device__ void multiply_registers(float (&c)[kCols / 2], const std::uint32_t (&a)[kSteps][4],
                                   const uint4* b, int first) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int k = 0; k < kSteps; ++k) {
#pragma unroll
    for (int j = 0; j < kCols / 16; ++j) {
      std::uint32_t of_b[4];
      const int chunk = first + 2 * j + lane / 16;
      ptx::ldmatrix_x4_trans(of_b, &b[kit::swizzled_chunk<kChunks>(16 * k + lane % 16, chunk)]);
      ptx::mma_m16n8k16<T>(ptx::four(&c[8 * j]), a[k], of_b[0], of_b[1]);
      ptx::mma_m16n8k16<T>(ptx::four(&c[8 * j + 4]), a[k], of_b[2], of_b[3]);
    }
  }
}
#endif

}  // namespace backward
