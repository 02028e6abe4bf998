// How the rung for mma.sync cuts up its work, how its tiles come to shared memory, and its
// products.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/backward/kit/pairs.cuh"
#include "07_flash_attention/backward/kit/row_facts.cuh"
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

  // Where eight queries of a key lie in a tile of dS^T.
  __device__ static constexpr int ds_chunk(int key, int chunk) {
    return kit::swizzled_chunk<kQueries / 8>(key, chunk);
  }
};

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
// Issues the copies that bring a block's tiles to its shared memory, which has k, v, and two
// buffers of q, d_o, lse2 and mean.
template <class Tile, class T>
struct TileCopier {
  static constexpr int kD = 8 * Tile::kChunks;

  const Arguments<T>& args;
  const Steps<Tile>& steps;

  // The block's keys and values, of a head that begins at element `at`.
  template <class Shared>
  __device__ void copy_keys(Shared& shared, std::int64_t at) const {
    copy<Tile::kKeys>(shared.k, args.k + at, steps.first_key, args.shape.n_k);
    copy<Tile::kKeys>(shared.v, args.v + at, steps.first_key, args.shape.n_k);
  }

  // What a step needs, to the buffer that is the step's: Q and dO of its rows, their log-sum-exp
  // and D.
  template <class Shared>
  __device__ void copy_step(Shared& shared, int step) const {
    const std::int64_t head = steps.head(step);
    const int row = steps.first_row(step);
    const std::int64_t first = head * args.shape.n_q * kD;
    copy<Tile::kQueries>(shared.q[step % 2], args.q + first, row, args.shape.n_q);
    copy<Tile::kQueries>(shared.d_o[step % 2], args.d_o + first, row, args.shape.n_q);
    copy_facts(shared, args.rows, steps, step);
  }

 private:
  // kRows rows from row `first` of a head with n rows; zeros after the last.
  template <int kRows>
  static __device__ void copy(uint4* tile, const T* head, int first, int n) {
    constexpr int kChunks = Tile::kChunks;
    const auto* from = reinterpret_cast<const uint4*>(head) + std::int64_t{first} * kChunks;
#pragma unroll
    for (int i = threadIdx.x; i < kRows * kChunks; i += Tile::kThreads) {
      const int row = i / kChunks;
      ptx::cp_async_16(&tile[kit::swizzled_chunk<kChunks>(row, i % kChunks)], from + i,
                       first + row < n);
    }
  }
};

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
