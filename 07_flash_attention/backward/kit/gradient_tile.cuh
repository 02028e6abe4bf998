// How the rungs for wgmma cut up their work, how their tiles lie in shared memory, and what a
// warpgroup does with its part of a tile: the products, dS^T on its way to shared memory, and its
// rows of dK and dV.
//
// A tile of R rows and d columns of 16 bits lies as d / 64 slabs, one after the other; a slab is R
// rows of 128 bytes, swizzled as TMA and wgmma both understand it.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/backward/kit/pairs.cuh"
#include "common/kit/ptx/mma.cuh"
#include "common/kit/ptx/tma.cuh"
#include "common/kit/ptx/wgmma.cuh"

namespace backward {

// Two warpgroups compute. Each has 64 keys; where d is 256 both have the same 64, and each one half
// of the columns of dK and dV (kCols), as all would be more registers than a thread can have. Of
// dQ a warpgroup has 64 queries and kDqCols columns.
template <class Element_, int kD_>
struct GradientTile {
  using Element = Element_;
  static constexpr int kD = kD_, kSplit = kD == 256 ? 2 : 1;
  static constexpr int kTileM = kD == 64 ? 128 : 64, kTileN = 128 / kSplit;  // queries, keys
  static constexpr int kCols = kD / kSplit, kDqCols = kTileM == 128 ? kD : kD / 2;
  static constexpr int kKeyBytes = kTileN * kD * 2, kQueryBytes = kTileM * kD * 2;
  static constexpr int kDsBytes = kTileN * kTileM * 2, kDqPart = 64 * kDqCols;
  static constexpr int kKeySlab = kTileN * 128, kQuerySlab = kTileM * 128;
  static constexpr int kThreads = 256;               // that compute
  static constexpr int kChunks = kD / 8, kSlab = 8;  // of 16 bytes, a row's and a slab's

  // What belongs to warpgroup 0 or 1: the first of its keys, of its columns of dK and dV, and of
  // its queries and columns of dQ.
  __host__ __device__ static constexpr int own_key(int w) { return kSplit == 1 ? 64 * w : 0; }
  __host__ __device__ static constexpr int own_col(int w) { return kSplit == 1 ? 0 : kCols * w; }
  __host__ __device__ static constexpr int dq_row(int w) { return kTileM == 128 ? 64 * w : 0; }
  __host__ __device__ static constexpr int dq_col(int w) { return kTileM == 128 ? 0 : kDqCols * w; }
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// The one of the two warpgroups that the thread belongs to, and what it does with its part of a
// tile. Each product is issued as one group of wgmma.
template <class Tile>
struct Warpgroup {
  using Element = typename Tile::Element;
  static constexpr int kD = Tile::kD, kSplit = Tile::kSplit, kTileM = Tile::kTileM;
  static constexpr int kKeySlab = Tile::kKeySlab, kQuerySlab = Tile::kQuerySlab;

  static __device__ __forceinline__ int index() { return threadIdx.x / 128; }
  static __device__ __forceinline__ int first_key() { return Tile::own_key(index()); }

  // region transposed
  // Issues s = A B^T as one group of wgmma: S^T = K Q^T or dP^T = V dO^T. Of `keys` (K or V) the
  // warpgroup's rows; all of `queries` (Q or dO).
  static __device__ __forceinline__ void issue_transposed(float (&s)[kTileM / 2],
                                                          const unsigned char* keys,
                                                          const unsigned char* queries) {
    const std::uint64_t a = ptx::descriptor_128B(keys + first_key() * 128, 0, 1024);
    const std::uint64_t b = ptx::descriptor_128B(queries, 0, 1024);
    ptx::fence_registers(s);
    ptx::wgmma_fence();
#pragma unroll
    for (int c = 0; c < Tile::kD / 16; ++c) {  // 16 columns: 32 bytes of a slab
      const int slab = c / 4, bytes = c % 4 * 32;
      ptx::wgmma<typename Tile::Element>(s, ptx::advance(a, slab * kKeySlab + bytes),
                                         ptx::advance(b, slab * kQuerySlab + bytes), c > 0);
    }
    ptx::wgmma_commit_group();
  }
  // endregion

  // Writes the warpgroup's dS^T to shared memory, a row per key. Where both warpgroups have the
  // same keys, each writes half of the queries.
  static __device__ __forceinline__ void store_ds(unsigned char* to,
                                                  const std::uint32_t (&ds)[kTileM / 16][4]) {
    const int lane = threadIdx.x % 32;
    const int key = first_key() + threadIdx.x % 128 / 32 * 16 + lane % 16;
    constexpr int kSteps = kTileM / 16;
#pragma unroll
    for (int j = 0; j < kSteps; ++j) {
      if (kSplit == 2 && j / (kSteps / 2) != index()) continue;
      unsigned char* slab = to + j / 4 * kKeySlab;
      ptx::stmatrix_x4(slab + ptx::swizzled_128B(key, j % 4 * 2 + lane / 16), ds[j][0], ds[j][1],
                       ds[j][2], ds[j][3]);
    }
  }

  // Of the 64 rows of an accumulator this thread's first; it has the one 8 below, too.
  static __device__ __forceinline__ int row() {
    return threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4;
  }

  // sum += A B: dV += P^T dO or dK += dS^T Q, with A in registers. Of `queries` (dO or Q) the
  // warpgroup's columns.
  static __device__ __forceinline__ void issue_gradient(float (&sum)[Tile::kCols / 2],
                                                        std::uint32_t (&a)[kTileM / 16][4],
                                                        const unsigned char* queries) {
    const std::uint64_t b =
        ptx::descriptor_128B(queries + Tile::own_col(index()) / 64 * kQuerySlab, kQuerySlab, 1024);
    ptx::fence_registers(sum);
    ptx::wgmma_fence();
#pragma unroll
    for (int j = 0; j < kTileM / 16; ++j) {
      ptx::wgmma<Element, 1>(sum, a[j], ptx::advance(b, j * 16 * 128));
    }
    ptx::wgmma_commit_group();
  }

  // region dq
  // dq = dS K, with both operands from shared memory: 64 queries and kDqCols columns. dS lies with
  // a key in each row, which is what wgmma calls MN-major for both operands: no transposition.
  static __device__ __forceinline__ void issue_dq(float (&dq)[Tile::kDqCols / 2],
                                                  const unsigned char* ds, const unsigned char* k) {
    const std::uint64_t a =
        ptx::descriptor_128B(ds + Tile::dq_row(index()) / 64 * kKeySlab, 0, 1024);
    const std::uint64_t b =
        ptx::descriptor_128B(k + Tile::dq_col(index()) / 64 * kKeySlab, kKeySlab, 1024);
    ptx::fence_registers(dq);
    ptx::wgmma_fence();
#pragma unroll
    for (int j = 0; j < Tile::kTileN / 16; ++j) {
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
