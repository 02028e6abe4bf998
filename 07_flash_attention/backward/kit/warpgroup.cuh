// What a warpgroup does where all five products are those of wgmma: the three that use P and dS,
// and storing its rows of dK and dV.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/backward/kit/hopper_tile.cuh"
#include "07_flash_attention/backward/kit/pairs.cuh"
#include "common/kit/ptx/wgmma.cuh"

namespace backward {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// What a warpgroup does with its part of a tile. Each product is issued as one group of wgmma.
template <class Tile>
struct Warpgroup : PairsWarpgroup<Tile> {
  using PairsWarpgroup<Tile>::index;
  using Element = typename Tile::Element;
  static constexpr int kD = Tile::kD, kQueries = Tile::kQueries;
  static constexpr int kKeySlab = Tile::kKeySlab, kQuerySlab = Tile::kQuerySlab;

  // Of the 64 rows of an accumulator this thread's first; it has the one 8 below, too.
  static __device__ __forceinline__ int row() {
    return threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4;
  }

  // sum += A B: dV += P^T dO or dK += dS^T Q, with A in registers. Of `queries` (dO or Q) the
  // warpgroup's columns.
  static __device__ __forceinline__ void issue_gradient(float (&sum)[Tile::kCols / 2],
                                                        std::uint32_t (&a)[kQueries / 16][4],
                                                        const unsigned char* queries) {
    const std::uint64_t b =
        ptx::descriptor_128B(queries + Tile::own_col(index()) / 64 * kQuerySlab, kQuerySlab, 1024);
    ptx::fence_registers(sum);
    ptx::wgmma_fence();
#pragma unroll
    for (int j = 0; j < kQueries / 16; ++j) {
      ptx::wgmma<Element, 1>(sum, a[j], ptx::advance(b, j * 16 * 128));
    }
    ptx::wgmma_commit_group();
  }

  // region dq
  // dq = dS K, with both operands from shared memory: 64 queries and kDqCols columns. dS lies with
  // a key a row, which is what wgmma calls MN-major for both operands: no transposition.
  static __device__ __forceinline__ void issue_dq(float (&dq)[Tile::kDqCols / 2],
                                                  const unsigned char* ds, const unsigned char* k) {
    const std::uint64_t a =
        ptx::descriptor_128B(ds + Tile::dq_row(index()) / 64 * kKeySlab, 0, 1024);
    const std::uint64_t b =
        ptx::descriptor_128B(k + Tile::dq_col(index()) / 64 * kKeySlab, kKeySlab, 1024);
    ptx::fence_registers(dq);
    ptx::wgmma_fence();
#pragma unroll
    for (int j = 0; j < Tile::kKeys / 16; ++j) {
      ptx::wgmma<Element, 1, 1>(dq, ptx::advance(a, j * 16 * 128), ptx::advance(b, j * 16 * 128),
                                j > 0);
    }
    ptx::wgmma_commit_group();
  }
  // endregion

  // The first of its rows of dQ, and the column of register i.
  static __device__ __forceinline__ int dq_row() { return Tile::dq_row(index()); }
  static __device__ __forceinline__ int dq_col(int i) {
    return Tile::dq_col(index()) + query_of_register(i);
  }

  // Writes factor sum, complete, to dK or dV of a head with n keys. key: the thread's first.
  static __device__ __forceinline__ void store(Element* head, const float (&sum)[Tile::kCols / 2],
                                               int key, int n, float factor) {
    store_keys<kD>(head, sum, key, n, Tile::own_col(index()), factor);
  }
};
#endif

}  // namespace backward
