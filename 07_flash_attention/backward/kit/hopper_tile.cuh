// How the rungs for wgmma cut up their work, how their tiles lie in shared memory, the product that
// makes S^T and dP^T, and the tile of dS^T.
//
// A tile of R rows and d columns of 16 bits lies as d / 64 slabs, one after the other; a slab is R
// rows of 128 bytes, swizzled as TMA and wgmma both understand it.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/kit/ptx/mma.cuh"
#include "common/kit/ptx/tma.cuh"
#include "common/kit/ptx/wgmma.cuh"

namespace backward {

// Two warpgroups compute. Each has 64 keys; where d is 256 both have the same 64, and each one half
// of the columns of dK and dV (kCols), as all would be more registers than a thread can have. Of
// dQ a warpgroup has 64 queries and kDqCols columns.
template <class Element_, int kD_>
struct HopperTile {
  using Element = Element_;
  static constexpr int kD = kD_, kSplit = kD == 256 ? 2 : 1;
  static constexpr int kKeys = 128 / kSplit, kQueries = kD == 64 ? 128 : 64;
  static constexpr int kCols = kD / kSplit, kDqCols = kQueries == 128 ? kD : kD / 2;
  static constexpr int kKeyBytes = kKeys * kD * 2, kQueryBytes = kQueries * kD * 2;
  static constexpr int kDsBytes = kKeys * kQueries * 2, kDqPart = 64 * kDqCols;
  static constexpr int kKeySlab = kKeys * 128, kQuerySlab = kQueries * 128;
  static constexpr int kThreads = 256;               // that compute
  static constexpr int kChunks = kD / 8, kSlab = 8;  // of 16 bytes, a row's and a slab's

  // What belongs to warpgroup 0 or 1: the first of its keys, of its columns of dK and dV, and of
  // its queries and columns of dQ.
  __host__ __device__ static constexpr int own_key(int w) { return kSplit == 1 ? 64 * w : 0; }
  __host__ __device__ static constexpr int own_col(int w) { return kSplit == 1 ? 0 : kCols * w; }
  __host__ __device__ static constexpr int dq_row(int w) { return kQueries == 128 ? 64 * w : 0; }
  __host__ __device__ static constexpr int dq_col(int w) {
    return kQueries == 128 ? 0 : kDqCols * w;
  }
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// The one of the two warpgroups that the thread belongs to, and the product that makes its part of
// a tile of pairs.
template <class Tile>
struct PairsWarpgroup {
  static constexpr int kSplit = Tile::kSplit, kQueries = Tile::kQueries;
  static constexpr int kKeySlab = Tile::kKeySlab, kQuerySlab = Tile::kQuerySlab;

  static __device__ __forceinline__ int index() { return threadIdx.x / 128; }
  static __device__ __forceinline__ int first_key() { return Tile::own_key(index()); }

  // region transposed
  // Issues s = A B^T as one group of wgmma: S^T = K Q^T or dP^T = V dO^T. Of `keys` (K or V) the
  // warpgroup's rows; all of `queries` (Q or dO).
  static __device__ __forceinline__ void issue_transposed(float (&s)[kQueries / 2],
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

  // Writes the warpgroup's dS^T to shared memory, a row a key. Where both warpgroups have the same
  // keys, each writes half of the queries.
  static __device__ __forceinline__ void store_ds(unsigned char* to,
                                                  const std::uint32_t (&ds)[kQueries / 16][4]) {
    const int lane = threadIdx.x % 32;
    const int key = first_key() + threadIdx.x % 128 / 32 * 16 + lane % 16;
    constexpr int kSteps = kQueries / 16;
#pragma unroll
    for (int j = 0; j < kSteps; ++j) {
      if (kSplit == 2 && j / (kSteps / 2) != index()) continue;
      unsigned char* slab = to + j / 4 * kKeySlab;
      ptx::stmatrix_x4(slab + ptx::swizzled_128B(key, j % 4 * 2 + lane / 16), ds[j][0], ds[j][1],
                       ds[j][2], ds[j][3]);
    }
  }
};
#endif

}  // namespace backward
