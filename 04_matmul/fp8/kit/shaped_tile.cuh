// Tiles of several shapes for products in fp8, either of whose operands has wgmma's 64 rows; the
// scales that belong to a thread's products; and where sums go, to C or as parts of it to memory.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "04_matmul/kit/gemm_tile.cuh"
#include "04_matmul/kit/vector_rows.cuh"
#include "common/kit/ptx/mma.cuh"
#include "common/kit/ptx/roles.cuh"

namespace matmul::fp8 {

// Whose rows are wgmma's 64.
enum class Rigid { a, b };

// A tile: 64 kGroups rows of the rigid operand by kFitted of the other. kWorkers warpgroups take
// the k tiles of 64 rigid rows in turn. kCluster blocks, side by side on the rigid side, share the
// fitted operand; an SM has room for kBlocks blocks.
template <Rigid kRigid_, int kGroups_, int kWorkers_, int kFitted_, int kCluster_, int kBlocks_>
struct ShapedTile {
  static constexpr Rigid kRigid = kRigid_;
  static constexpr int kGroups = kGroups_, kWorkers = kWorkers_, kFitted = kFitted_;
  static constexpr int kCluster = kCluster_, kBlocks = kBlocks_;
  static constexpr int kRows = 64 * kGroups;
  static constexpr int kTileM = kRigid == Rigid::a ? kRows : kFitted;
  static constexpr int kTileN = kRigid == Rigid::a ? kFitted : kRows;
  // Rows of a box of A; one that no other block has a part of is no higher than an A of m rows.
  static constexpr int kBoxA = kRigid == Rigid::b ? kFitted / kCluster : kRows;
  __host__ __device__ static int rows_missing(int m) {
    return m < kTileM && kBoxA == kTileM ? kTileM - m : 0;
  }
  static constexpr int kConsumers = kGroups * kWorkers, kThreads = 128 * (1 + kConsumers);
  // Of a thread; 65,536 for all of an SM. What the producer does not need the others get.
  static constexpr int kRegisters = 65536 / (kBlocks * kThreads) / 8 * 8;
  static constexpr int kProducerRegisters = 32;
  static constexpr int kConsumerRegisters =
      (kRegisters * (1 + kConsumers) - kProducerRegisters) / kConsumers / 8 * 8;
  // Sums and two sets of accumulators, and what else a thread has to know.
  static constexpr bool kHasTwoSets = 3 * kFitted / 2 + 36 <= kConsumerRegisters;
  static constexpr int kBytesRigid = kRows * kRowBytes, kBytesFitted = kFitted * kRowBytes;
  static constexpr int kStageBytes = kBytesRigid + kBytesFitted;
  // What a block has of an SM's shared memory, but for barriers and scales.
  static constexpr int kMostRing = (kBlocks == 1 ? 208 : 224 / kBlocks - 6) * 1024;
  static constexpr int kStages = kMostRing / kStageBytes / kWorkers * kWorkers;
  // In the end the sums of all workers take the place of the ring, row by row as C's. Their pitch
  // keeps the lanes of a store apart.
  static constexpr int kPitch = kTileN + (kRigid == Rigid::a ? 8 : 4);
  static constexpr int kSums = kTileM * kPitch;
  static constexpr int kSharedBytes = std::max(kStages * kStageBytes, kWorkers* kSums * 4);
  // Scales of blocks: a piece of the tile's columns has one of B. A thread has products of two rows
  // in each piece, or, where B is rigid, of two rows of A in eight. Which is that of product i?
  static constexpr int kPieceCols = 64;
  static constexpr int kPieces = kRigid == Rigid::a ? kFitted / kPieceCols : 1;
  static_assert(kRigid == Rigid::b || kFitted % kPieceCols == 0, "all pieces are whole");
  static constexpr int kScales = kRigid == Rigid::a ? 2 * kPieces : kFitted / 4;
  __device__ static constexpr int scale_of(int i) {
    return kRigid == Rigid::a ? i / (kPieceCols / 2) % kPieces * 2 + i / 2 % 2 : i / 4 * 2 + i % 2;
  }
  static_assert(kFitted / kCluster % 8 == 0, "a swizzled box has a multiple of 8 rows");
};

// What becomes of the sums: C, or parts of them in fp32, which have m rows of `pitch` floats each.
struct ShapedResult {
  __nv_bfloat16* c;
  bool has_vectors;  // C's rows can be stored 16 bytes at a time
  float* parts;
  int count, m, n, pitch;

  __host__ __device__ std::int64_t floats() const { return std::int64_t{m} * pitch; }  // of a part
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
__device__ inline void add_eight(float (&total)[8], const float* from) {
  const auto* const eight = reinterpret_cast<const float4*>(from);
  const float4 left = eight[0], right = eight[1];
  total[0] += left.x, total[1] += left.y, total[2] += left.z, total[3] += left.w;
  total[4] += right.x, total[5] += right.y, total[6] += right.z, total[7] += right.w;
}

__device__ inline void store_eight_sums(const ShapedResult& to, int row, int col,
                                        const float (&x)[8]) {
  const uint4 rounded = make_uint4(ptx::pack_bf16(x[0], x[1]), ptx::pack_bf16(x[2], x[3]),
                                   ptx::pack_bf16(x[4], x[5]), ptx::pack_bf16(x[6], x[7]));
  if (to.has_vectors) {
    store_eight<true>(to.c, row, col, to.m, to.n, rounded);
  } else {
    store_eight<false>(to.c, row, col, to.m, to.n, rounded);
  }
}

// A tile's sums leave the consumers, whose ring has been used for the last time: they meet in its
// place, the workers' sums are added, always in the same order, and each thread stores eight
// neighbours of C, or of part number `part`, from row own.x and column own.y on: what lies before
// is another tile's. scale(y, x): of an element of the tile at (row, col).
template <class T, class Scale>
__device__ __forceinline__ void store_shaped_tile(const float (&sums)[T::kFitted / 2], float* room,
                                                  const ShapedResult& c, int part, int row, int col,
                                                  int2 own, Scale scale) {
  const int warpgroup = threadIdx.x / 128, lane = threadIdx.x % 32;
  const int group = warpgroup / T::kWorkers, worker = warpgroup % T::kWorkers;
  // All are done with the ring. Where B is rigid, sums lie transposed.
  ptx::named_barrier_sync(1, 128 * T::kConsumers);
  float* const mine = room + worker * T::kSums;
  const int along = 64 * group + 16 * (threadIdx.x % 128 / 32) + lane / 4;
#pragma unroll
  for (int i = 0; i < T::kFitted / 2; i += 2) {
    const int x = along + i / 2 % 2 * 8, y = i / 4 * 8 + lane % 4 * 2;
    if constexpr (T::kRigid == Rigid::b) {
      mine[y * T::kPitch + x] = sums[i];
      mine[(y + 1) * T::kPitch + x] = sums[i + 1];
    } else {
      *reinterpret_cast<float2*>(mine + x * T::kPitch + y) = make_float2(sums[i], sums[i + 1]);
    }
  }
  ptx::named_barrier_sync(1, 128 * T::kConsumers);

  // Neighbouring threads have neighbours in a row.
  for (int i = threadIdx.x; i < T::kTileM * T::kTileN / 8; i += 128 * T::kConsumers) {
    const int y = i / (T::kTileN / 8), x = i % (T::kTileN / 8) * 8;
    if (row + y < own.x || row + y >= c.m || col + x < own.y || col + x >= c.n) continue;
    float total[8] = {};
#pragma unroll
    for (int w = 0; w < T::kWorkers; ++w) {
      add_eight(total, room + w * T::kSums + y * T::kPitch + x);
    }
#pragma unroll
    for (int j = 0; j < 8; ++j) total[j] *= scale(y, x + j);
    // Rounded to C, or as they are to their part.
    if (c.count == 1) {
      store_eight_sums(c, row + y, col + x, total);
    } else {
      auto* const to = reinterpret_cast<float4*>(c.parts + part * c.floats() +
                                                 std::int64_t{row + y} * c.pitch + col + x);
      to[0] = make_float4(total[0], total[1], total[2], total[3]);
      to[1] = make_float4(total[4], total[5], total[6], total[7]);
    }
  }
}

// With scales of blocks: those of the products that this thread has of a k tile.
template <class T>
__device__ inline void load_scales(float (&scale)[T::kScales], const float* of_a,
                                   const float (&of_b)[T::kPieces]) {
  const int warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32;
  if constexpr (T::kRigid == Rigid::a) {
    const int top = threadIdx.x / 128 / T::kWorkers * 64 + 16 * warp + lane / 4;
#pragma unroll
    for (int i = 0; i < T::kScales; ++i) scale[i] = of_a[top + i % 2 * 8] * of_b[i / 2];
  } else {
#pragma unroll
    for (int i = 0; i < T::kScales; i += 2) {
      const float2 two = *reinterpret_cast<const float2*>(of_a + 4 * i + lane % 4 * 2);
      scale[i] = two.x * of_b[0], scale[i + 1] = two.y * of_b[0];
    }
  }
}
#endif

}  // namespace matmul::fp8
