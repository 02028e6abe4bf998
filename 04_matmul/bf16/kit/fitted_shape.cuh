// Tiles of which one side is fitted to the shape of C, their rings, and how they are stored where
// TMA would store too much, or cannot.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/bf16/kit/transposed_store.cuh"
#include "04_matmul/kit/gemm_tile.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/ptx/tma.cuh"

namespace matmul::bf16 {

// Which side of a tile of C is fitted: its height, the rows, or its width, the columns.
enum class Fitted { height, width };

// A tile: kFittedSize elements on the fitted side, 64 kParts for each of kConsumers warpgroups on
// the rigid one. A cluster computes kFittedBlocks of them, neighbours along the fitted side, and
// loads what belongs to the rigid side once; or kRigidBlocks along the rigid one; or both.
template <Fitted kFitted_, int kConsumers, int kParts_, int kFittedSize, int kFittedBlocks_,
          int kRigidBlocks_ = 1>
struct FittedTile {
  static constexpr bool kIsHeight = kFitted_ == Fitted::height;
  static constexpr int kWarpgroups = kConsumers, kParts = kParts_;
  static constexpr int kFittedBlocks = kFittedBlocks_, kRigidBlocks = kRigidBlocks_;
  static constexpr int kCluster = kFittedBlocks * kRigidBlocks;
  static constexpr int kFitted = kFittedSize, kRigidSlabs = kWarpgroups * kParts;
  static constexpr int kTileM = kIsHeight ? kFitted : 64 * kRigidSlabs;
  static constexpr int kTileN = kIsHeight ? 64 * kRigidSlabs : kFitted;
  // Of a cluster: so many tiles below each other, so many beside each other.
  static constexpr int kDown = kIsHeight ? kFittedBlocks : kRigidBlocks;
  static constexpr int kAcross = kIsHeight ? kRigidBlocks : kFittedBlocks;
  static constexpr int kThreads = 128 * (1 + kWarpgroups);
  // Small: for few tiles, in one wave at most.
  static constexpr bool kIsSmall = kIsHeight && kWarpgroups == 1;
  // k tiles of a stage: two where the products of one are done so soon that waiting for it shows.
  static constexpr int kDepth = kWarpgroups == 1 && kFittedSize <= 64 ? 2 : 1;
  // Of a thread; 65,536 for all. What the producer does not need the others get.
  static constexpr int kProducerRegisters = kWarpgroups == 3 ? 32 : 40;
  static constexpr int kConsumerRegisters = kWarpgroups == 3 ? 160 : 232;
  static constexpr int kFittedSlabs = kit::divide_up(kFitted, 64);
  // Behind the ring: slabs in which a warpgroup stages its part of C, one after the other. There is
  // room for a second one beside two slabs of the rigid side; it pays if a third has to follow.
  static constexpr int kStaging = kRigidSlabs == 2 && kFittedSlabs > 2 ? 2 : 1;
  static constexpr int kStagingBytes = kWarpgroups * kStaging * kSlabBytes;
  static constexpr int kRest = kFitted % 64;  // in the last slab of C, if it is not full
  static_assert(kRest == 0 || kRest >= 16, "sums are stored 16 rows at a time");
  static_assert(kFitted % (kIsHeight ? 8 : 16) == 0 && kFitted <= 256, "as wgmma and TMA want it");
};

// Its ring. A k tile: the fitted side, rows along k or, of a B that is k x n, slabs of its columns;
// then the slabs of the rigid side. A stage has kDepth of them. 1 KB is for barriers.
template <class T, bool kFittedAlongK>
struct FittedRing {
  static constexpr int kFittedBytes =
      kFittedAlongK ? T::kFitted * kRowBytes : T::kFittedSlabs * kSlabBytes;
  static constexpr int kTileBytes = kFittedBytes + T::kRigidSlabs * kSlabBytes;
  static constexpr int kStageBytes = T::kDepth * kTileBytes;
  static constexpr int kStages = (226 * 1024 - T::kStagingBytes) / kStageBytes;
  static constexpr int kRingBytes = kStages * kStageBytes;

  // K tile d of a stage. If it lies beyond k, TMA fills it with zeros.
  __device__ static unsigned char* tile(unsigned char* ring, int stage, int d) {
    return ring + stage * kStageBytes + d * kTileBytes;
  }
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// Loads a box, 64 values of k from p: for this block alone, or for kBlocks of the cluster that need
// it, those in `mask`. They do it by turns; this is number `own` of them. kAlongK: rows of the box
// run along k; otherwise its 64 rows are values of k.
template <int kBlocks, bool kAlongK>
__device__ inline void load_by_turns(void* to, const CUtensorMap* map, int p, int at,
                                     std::uint64_t* barrier, int turn, int own, unsigned mask) {
  const int x = kAlongK ? p : at, y = kAlongK ? at : p;
  if constexpr (kBlocks == 1) {
    ptx::tensor_load(to, map, x, y, barrier);
  } else if (turn % kBlocks == own) {
    ptx::tensor_load_multicast(to, map, x, y, barrier, static_cast<std::uint16_t>(mask));
  }
}
#endif

// C as TMA stores it or, where it cannot, as the threads do.
struct EitherC {
  bool is_loose;
  LooseC loose;
  MapsOfC maps;  // unless is_loose
};
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
__device__ inline void store_slab(const EitherC* c, const unsigned char* slab, int rows, int row,
                                  int col) {
  if (c->is_loose) {
    matmul::store_slab(&c->loose, slab, rows, row, col);
  } else {
    store_slab(&c->maps, slab, rows, row, col);
  }
}
// The first `width` columns of a slab of 64 rows: the rest is not of this tile, and a box of TMA
// would store it, too. Two elements at a time where they begin at a multiple of 4 bytes.
__device__ inline void store_rest(const EitherC* c, const unsigned char* slab, int row, int col,
                                  int width) {
  const Rows<__nv_bfloat16>& rows = c->loose.rows;
  for (int i = threadIdx.x % 128; i < 64 * width / 2; i += 128) {
    const int y = i / (width / 2), x = i % (width / 2) * 2;
    if (row + y >= c->loose.m || col + x >= c->loose.n) continue;
    const auto two = *reinterpret_cast<const __nv_bfloat162*>(slab + ptx::swizzled_128B(y, x / 8) +
                                                              x % 8 * sizeof(__nv_bfloat16));
    __nv_bfloat16* const to = rows.data + (row + y) * rows.pitch + col + x;
    if (reinterpret_cast<std::uintptr_t>(to) % 4 == 0 && col + x + 1 < c->loose.n) {
      *reinterpret_cast<__nv_bfloat162*>(to) = two;
    } else {
      to[0] = two.x;
      if (col + x + 1 < c->loose.n) to[1] = two.y;
    }
  }
}
#endif

}  // namespace matmul::bf16
