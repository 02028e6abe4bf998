// A block's tile of a matrix product on Hopper: how TMA brings it to shared memory, how a warpgroup
// multiplies it by wgmma, and how C leaves the accumulators, straight from the registers or by TMA.
//
// A row of a tile has 128 bytes, 64 elements. Its chunks of 16 bytes are swizzled
// (common/kit/swizzle.cuh), so that nobody meets a bank conflict, and tiles begin at multiples of
// 1024 bytes, eight rows.
// - A, and B as n x k: a row of the tile is a row of the matrix, 64 values of k (K-major).
// - B as k x n: a row of the tile is 64 columns of one value of k (MN-major). 64 such rows make a
//   slab, and the tile has a slab for every 64 columns.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "common/kit/launch.cuh"
#include "common/kit/ptx/mma.cuh"
#include "common/kit/ptx/roles.cuh"
#include "common/kit/ptx/tma.cuh"
#include "common/kit/ptx/wgmma.cuh"
#include "common/kit/tensor_map.cuh"

namespace matmul {

inline constexpr int kTileK = 64;                  // values of k in a tile
inline constexpr int kRowBytes = 128;              // of a row of a tile
inline constexpr int kSlabBytes = 64 * kRowBytes;  // of 64 rows

// A matrix on the device, row by row: element (i, j) is data[i * pitch + j].
template <class T>
struct Rows {
  T* data;
  std::int64_t pitch;
};

// What a product reads and writes.
struct Operands {
  Rows<const __nv_bfloat16> a, b;
  Rows<__nv_bfloat16> c;
};
// A is m x k, C is m x n, B is k x n or, if kTransposedB, n x k; with nothing between their rows.
template <bool kTransposedB>
Operands dense(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int n, int k) {
  return {{a, k}, {b, kTransposedB ? k : n}, {c, n}};
}

// A matrix as TMA sees it: boxes of box_rows rows and 64 columns. It asks the L2 cache for 128
// bytes at a time, as much as a row of a box has: where rows do not begin at multiples of 256
// bytes, twice as much would fetch some of it in vain. pitch: elements from a row to the next, or
// 0, and there is nothing between them.
inline CUtensorMap map_of_rows(const __nv_bfloat16* x, int rows, int cols, int box_rows,
                               std::int64_t pitch = 0) {
  const auto width = static_cast<std::uint64_t>(cols), height = static_cast<std::uint64_t>(rows);
  return kit::tensor_map(
      x, {width, height}, {sizeof *x * (pitch == 0 ? width : static_cast<std::uint64_t>(pitch))},
      {64, static_cast<std::uint32_t>(box_rows)}, CU_TENSOR_MAP_L2_PROMOTION_L2_128B);
}
// B as n x k in boxes for `cols` columns of the product, as k x n in slabs.
template <bool kTransposedB>
CUtensorMap map_of_b(const __nv_bfloat16* b, int n, int k, int cols, std::int64_t pitch = 0) {
  return kTransposedB ? map_of_rows(b, n, k, cols, pitch) : map_of_rows(b, k, n, kTileK, pitch);
}

// Clears rows first .. end - 1 of a tile, by all threads of a block. A box that is as high as the
// matrix leaves them alone, they are multiplied all the same, and TMA would take longer to fill
// them than to load rows. ptx::fence_proxy_async() and a barrier of the block must follow.
__device__ inline void clear_rows(unsigned char* tile, int first, int end) {
  constexpr int kChunks = kRowBytes / 16;
  for (int i = first * kChunks + threadIdx.x; i < end * kChunks; i += blockDim.x) {
    reinterpret_cast<uint4*>(tile)[i] = make_uint4(0, 0, 0, 0);
  }
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
// Calls load(to, x, y) for each box of B's tile: kCols columns of the product from `col` on, 64
// values of k from `p`.
template <bool kTransposedB, int kCols, class Load>
__device__ inline void each_box_of_b(void* to, int p, int col, Load load) {
  if constexpr (kTransposedB) {
    load(to, p, col);
  } else {
#pragma unroll
    for (int s = 0; s < kCols / 64; ++s) {
      load(static_cast<unsigned char*>(to) + s * kSlabBytes, col + 64 * s, p);
    }
  }
}
// Issues the load of this tile.
template <bool kTransposedB, int kCols>
__device__ inline void issue_b(void* to, const CUtensorMap* map_b, int p, int col,
                               std::uint64_t* barrier) {
  each_box_of_b<kTransposedB, kCols>(
      to, p, col, [&](void* box, int x, int y) { ptx::tensor_load(box, map_b, x, y, barrier); });
}
// As issue_b. policy: how the L2 cache is to keep it, see ptx::createpolicy_evict_first.
template <bool kTransposedB, int kCols>
__device__ inline void issue_b_cache_hint(void* to, const CUtensorMap* map_b, int p, int col,
                                          std::uint64_t* barrier, std::uint64_t policy) {
  each_box_of_b<kTransposedB, kCols>(to, p, col, [&](void* box, int x, int y) {
    ptx::tensor_load_cache_hint(box, map_b, x, y, barrier, policy);
  });
}
#endif

// The tile of C that a block computes, what one k tile takes of A and B (a stage), and a ring of
// kStages of them.
template <int kTileM_, int kTileN_, int kStages_>
struct GemmTile {
  static constexpr int kTileM = kTileM_, kTileN = kTileN_, kStages = kStages_;
  static constexpr int kBytesA = kTileM * kRowBytes, kBytesB = kTileN * kRowBytes;
  static constexpr int kStageBytes = kBytesA + kBytesB;
  static constexpr int kRingBytes = kStages * kStageBytes;
  // A producer warpgroup and two consumer warpgroups. Registers of a thread of either, as
  // setmaxnreg deals them out: 128 x 40 + 256 x 232 = 384 x 168, all that an SM has for them.
  static constexpr int kThreads = 3 * 128;
  static constexpr int kProducerRegisters = 40, kConsumerRegisters = 232;
  static_assert(kTileM % 64 == 0 && kTileM <= 256, "wgmma takes 64 rows, a box has at most 256");
  static_assert(kTileN % 64 == 0 && kTileN <= 256, "a slab has 64 columns, wgmma takes up to 256");
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// Issues the products of one k tile: adds them to the accumulators of a warpgroup, 64 rows by
// 2 kCount columns, by four wgmma of 16 values of k each. The first tile sets the accumulators, so
// they need not be cleared. Does not wait. kTransposedA: A's tile is a slab of 64 rows of the
// product (MN-major), as B's is where B is k x n.
template <bool kTransposedB, bool kTransposedA = false, int kCount>
__device__ inline void issue_k_tile(float (&acc)[kCount], const unsigned char* a,
                                    const unsigned char* b, bool first) {
  constexpr int kTransA = kTransposedA ? 1 : 0, kTransB = kTransposedB ? 0 : 1;  // MN-major
  constexpr int kEightRows = 8 * kRowBytes;
  // A descriptor tells wgmma where a tile begins, how far its next eight rows are, and, of an
  // MN-major one, how far its next slab is.
  const std::uint64_t from_a = ptx::descriptor_128B(a, 0, kEightRows);
  const std::uint64_t from_b = ptx::descriptor_128B(b, kTransposedB ? 0 : kSlabBytes, kEightRows);
#pragma unroll
  for (int q = 0; q < kTileK / 16; ++q) {
    // 16 values of k further: 32 bytes along a row, or 16 rows down a slab.
    ptx::wgmma_bf16<kTransB, kTransA>(
        acc, ptx::advance(from_a, kTransposedA ? 16 * kRowBytes * q : 32 * q),
        ptx::advance(from_b, kTransposedB ? 32 * q : 16 * kRowBytes * q), !first || q > 0);
  }
}

// Rounds the accumulators, 64 rows by 2 kCount columns, and stores them at (row, col): two
// neighbours at a time, as far as they are inside. n is even.
template <int kCount>
__device__ inline void store_accumulators(const float (&acc)[kCount], __nv_bfloat16* c, int row,
                                          int col, int m, int n) {
  const int warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < kCount; i += 2) {
    const int y = row + 16 * warp + lane / 4 + i / 2 % 2 * 8;
    const int x = col + i / 4 * 8 + lane % 4 * 2;
    if (y < m && x < n) {
      *reinterpret_cast<__nv_bfloat162*>(c + static_cast<std::int64_t>(y) * n + x) =
          __floats2bfloat162_rn(acc[i], acc[i + 1]);
    }
  }
}
#endif

constexpr int kStagingSlabs = 2;
constexpr int kStagingBytes = kStagingSlabs * kSlabBytes;  // of a warpgroup

// C where its rows do not begin at multiples of 16 bytes, so that TMA cannot store them.
struct LooseC {
  Rows<__nv_bfloat16> rows;
  int m, n;
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// Stores a slab of 64 columns, swizzled and complete, at (row, col) of C. All threads of a
// warpgroup call it. By TMA: it has not yet read the slab when this returns.
__device__ inline void store_slab(const CUtensorMap* map, const unsigned char* slab, int /*rows*/,
                                  int row, int col) {
  if (threadIdx.x % 128 == 0) {
    ptx::tensor_store(map, slab, col, row);
    ptx::bulk_commit_group();
  }
}
// region loose
// Where TMA cannot: row by row, two elements per lane, at multiples of 4 bytes. If a row begins
// between two of these, pairs begin at its second element. The first and the last element are
// stored alone where they have no partner.
__device__ inline void store_slab(const LooseC* c, const unsigned char* slab, int rows, int row,
                                  int col) {
  constexpr unsigned kAllLanes = 0xffffffff;
  constexpr int kRows = 16;  // of a warp, at most
  const int warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32, first = warp * rows / 4;
  const int height = min(rows / 4, c->m - row - first), width = min(64, c->n - col);
  __nv_bfloat16* const to = c->rows.data + (row + first) * c->rows.pitch + col;
  // Elements 2 i and 2 i + 1 of a row of the slab.
  const auto word = [&](int y, int i) {
    const unsigned char* const chunk = slab + ptx::swizzled_128B(first + y, i / 4);
    return reinterpret_cast<const std::uint32_t*>(chunk)[i % 4];
  };
  const auto is_odd = [&](int y) {
    return reinterpret_cast<std::uintptr_t>(to + y * c->rows.pitch) / sizeof *to % 2 != 0;
  };
#pragma unroll
  for (int begin = 0; begin < kRows; begin += kRows / 2) {
    // Lane l: elements 2 l and 2 l + 1 of each row, or 2 l + 1 and 2 l + 2 where pairs begin later.
    std::uint32_t pair[kRows / 2];
#pragma unroll
    for (int i = 0; i < kRows / 2; ++i) {
      const std::uint32_t mine = word(begin + i, lane);
      const std::uint32_t next = __shfl_down_sync(kAllLanes, mine, 1);
      pair[i] = is_odd(begin + i) ? __byte_perm(mine, next, 0x5432) : mine;
    }
#pragma unroll
    for (int i = 0; i < kRows / 2; ++i) {
      const int y = begin + i, x = 2 * lane + (is_odd(y) ? 1 : 0);
      if (y < height && x + 1 < width) {
        *reinterpret_cast<std::uint32_t*>(to + y * c->rows.pitch + x) = pair[i];
      }
    }
  }
  // Lane y stores the first element of row y, lane 16 + y the last, if it has no partner.
  const int y = lane % 16, odd = is_odd(y) ? 1 : 0;
  const int x = lane < 16 ? 0 : width - 1;
  const bool is_single = lane < 16 ? odd == 1 : (width - odd) % 2 == 1 && x >= odd;
  if (y < height && width > 0 && is_single) {
    const auto two = word(y, x / 2);
    to[y * c->rows.pitch + x] =
        __ushort_as_bfloat16(static_cast<unsigned short>(x % 2 == 0 ? two : two >> 16));
  }
}
// endregion

// Rounds the accumulators of a warpgroup, 64 rows by 2 kCount columns, and stores them at (row,
// col) by way of shared memory, in turn through kSlabs slabs. C: what store_slab() takes. Returns
// before they have arrived. `barrier`: of this warpgroup. Where the last slab is not full, a
// multiple of 16 columns, the threads store it: store_rest(c, slab, row, col, columns).
template <int kSlabs = kStagingSlabs, int kCount, class C>
__device__ inline void store_by_tma(const float (&acc)[kCount], unsigned char* staging, const C* c,
                                    int row, int col, int barrier) {
  const int thread = threadIdx.x % 128, warp = thread / 32, lane = thread % 32;
  const int y = 16 * warp + lane % 16;  // the row whose address this lane gives to stmatrix
#pragma unroll
  for (int s = 0; s < kit::divide_up(kCount, 32); ++s) {
    // Only the thread that issued a store can wait until TMA has read the slab.
    unsigned char* const slab = staging + s % kSlabs * kSlabBytes;
    if (thread == 0) ptx::bulk_wait_group_read<kSlabs - 1>();
    ptx::named_barrier_sync(barrier, 128);  // the slab is free

    // 16 columns at a time, swizzled as TMA expects them; lanes 16 .. 31 address the right half.
#pragma unroll
    for (int j = 0; j < min(4, kCount / 8 - 4 * s); ++j) {
      const float* d = &acc[32 * s + 8 * j];
      const int chunk = (2 * j + lane / 16) ^ (y % 8);
      ptx::stmatrix_x4(slab + y * kRowBytes + chunk * 16, ptx::pack_bf16(d[0], d[1]),
                       ptx::pack_bf16(d[2], d[3]), ptx::pack_bf16(d[4], d[5]),
                       ptx::pack_bf16(d[6], d[7]));
    }

    // TMA reads by another way: every thread that wrote makes its writes visible to it.
    ptx::fence_proxy_async();
    ptx::named_barrier_sync(barrier, 128);  // the slab is complete
    if (s < kCount / 32) {
      store_slab(c, slab, 64, row, col + 64 * s);
    } else if constexpr (kCount % 32 != 0) {
      store_rest(c, slab, row, col + 64 * s, 2 * kCount - 64 * s);
    }
  }
  // The next call begins with the first slab again, perhaps the one that was used last.
  if (kit::divide_up(kCount, 32) % kSlabs != 0 && thread == 0) ptx::bulk_wait_group_read<0>();
}
#endif

}  // namespace matmul
