// split_k: where tiles are few, several blocks share the sums of each.
//
// Every block takes a part of k for its tile, and leaves its sums in memory, in fp32 and as its
// threads hold them. A second kernel adds the parts up, in the same order every time, and rounds
// once: so there are no atomic additions, and the result is the same in every run. Tiles are
// transposed, as in full_waves, and their height is fitted to the rows of C and to the number of
// parts, so that most SMs have a part. Where parts do not pay, there is one. What is still wrong:
// while the second kernel starts and adds up, the tensor cores do nothing.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "04_matmul/bf16/kit/cost_model.cuh"
#include "04_matmul/bf16/kit/fitted_shape.cuh"
#include "04_matmul/bf16/kit/shaped_tile.cuh"
#include "04_matmul/kit/cluster.cuh"
#include "04_matmul/kit/gemm_tile.cuh"
#include "04_matmul/kit/scheduler.cuh"
#include "04_matmul/kit/vector_rows.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/pipeline.cuh"
#include "common/kit/ptx/grid.cuh"
#include "common/kit/ptx/mma.cuh"
#include "common/kit/ptx/tma.cuh"
#include "common/kit/ptx/wgmma.cuh"

namespace matmul::bf16 {

// The sums of all parts of all tiles. Those of a warpgroup, 64 columns of a tile, lie as its
// threads hold them: the first four of each of its 128 threads side by side, then the next four.
template <class T>
struct PartialSums {
  float4* data;
  int tiles, parts;

  std::int64_t bytes() const { return std::int64_t{4} * parts * tiles * T::kTileM * T::kTileN; }
  // Those of the calling thread.
  __device__ float4* at(int part, int tile, int slab) const {
    const std::int64_t slabs = (std::int64_t{part} * tiles + tile) * T::kRigidSlabs + slab;
    return data + slabs * (T::kTileM / 8) * 128 + threadIdx.x % 128;
  }
};

// Where a tile begins, row and column.
template <class T>
__device__ inline int2 begin_of_tile(const TileSchedule& tiles, int number, int m, int n) {
  const int2 tile = tiles.at(number);
  return make_int2(row_inside(tile.x * T::kTileM, T::kTileM, m),
                   col_inside(tile.y * T::kTileN, T::kTileN, n));
}

// Block i computes a part of one tile: first come the first parts of all tiles. With 128 registers
// a thread, fewer than 512 leave room on the SM for blocks of the second kernel, which start early.
template <class T, bool kTransposedB>
__global__ void __launch_bounds__(512, 1)
    bf16_gemm_split_k_kernel(const __grid_constant__ CUtensorMap map_a,
                             const __grid_constant__ CUtensorMap map_b, PartialSums<T> sums, int m,
                             int n, int k, TileSchedule tiles) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  static_assert(T::kIsHeight && T::kCluster == 1 && T::kParts == 1, "a block alone, transposed");
  using Ring = FittedRing<T, true>;
  extern __shared__ __align__(1024) unsigned char ring[];
  __shared__ std::uint64_t full[Ring::kStages], empty[Ring::kStages];
  const int rows = min(T::kTileM, m);  // of a box of A
  for (int s = 0; s < Ring::kStages; ++s) clear_rows(ring + s * Ring::kStageBytes, rows, T::kTileM);
  ptx::fence_proxy_async();
  start_cluster(full, empty, 4 * T::kWarpgroups);

  // Which tile of C, and which part of k.
  kit::PipelineState<Ring::kStages> state;
  const int number = static_cast<int>(blockIdx.x) % sums.tiles;
  const int part = static_cast<int>(blockIdx.x) / sums.tiles;
  const std::int64_t k_tiles = (k + kTileK - 1) / kTileK;
  const int begin = static_cast<int>(k_tiles * part / sums.parts) * kTileK;
  const int end = static_cast<int>(k_tiles * (part + 1) / sums.parts) * kTileK;
  const int warpgroup = threadIdx.x / 128;
  if (warpgroup == 0) {
    // The producer: only its part of k. B shall leave the L2 cache before the sums, which it has to
    // keep for the second kernel.
    if (threadIdx.x == 0) {
      const std::uint64_t policy = ptx::createpolicy_evict_first();
      const int2 at = begin_of_tile<T>(tiles, number, m, n);
      for (int p = begin; p < end; p += kTileK, state.next()) {
        unsigned char* const stage = ring + state.stage * Ring::kStageBytes;
        kit::wait_empty(empty, state);
        ptx::mbarrier_arrive_expect_tx(&full[state.stage],
                                       Ring::kStageBytes - (T::kTileM - rows) * kRowBytes);
        ptx::tensor_load(stage, &map_a, p, at.x, &full[state.stage]);
        issue_b_cache_hint<kTransposedB, T::kTileN>(stage + Ring::kFittedBytes, &map_b, p, at.y,
                                                    &full[state.stage], policy);
      }
    }
  } else {
    // The consumers, as in in_flight, but C' = B' A': 64 columns of C each.
    float acc[T::kTileM / 2];
    int before = 0;
    for (int p = begin; p < end; p += kTileK, state.next()) {
      const unsigned char* const stage = ring + state.stage * Ring::kStageBytes;
      kit::wait_full(full, state);
      ptx::wgmma_fence();
      issue_k_tile<true, !kTransposedB>(
          acc, stage + Ring::kFittedBytes + (warpgroup - 1) * kSlabBytes, stage, p == begin);
      ptx::wgmma_commit_group();
      ptx::wgmma_wait_group<1>();
      if (p > begin) kit::release(&empty[before]);
      before = state.stage;
    }
    ptx::wgmma_wait_group<0>();
    ptx::fence_registers(acc);

    // Their sums, unrounded: a warp writes 512 bytes at a time.
    float4* const to = sums.at(part, number, warpgroup - 1);
#pragma unroll
    for (int i = 0; i < T::kTileM / 8; ++i) {
      to[128 * i] = make_float4(acc[4 * i], acc[4 * i + 1], acc[4 * i + 2], acc[4 * i + 3]);
    }
  }
#else
  (void)map_a, (void)map_b, (void)sums, (void)m, (void)n, (void)k, (void)tiles;
#endif
}

// C = the sum of all parts, part 0 first: in another order it might round otherwise. A block adds
// up 16 rows of 64 columns. has_vectors: C's rows can be stored 16 bytes at a time.
template <class T>
__global__ void __launch_bounds__(128)
    bf16_gemm_add_parts_kernel(PartialSums<T> sums, Rows<__nv_bfloat16> c, bool has_vectors, int m,
                               int n, TileSchedule tiles) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  __shared__ __align__(16) unsigned char rounded[16 * kRowBytes];
  ptx::griddepcontrol_launch_dependents();
  ptx::griddepcontrol_wait();
  constexpr int kPieces = T::kTileM / 16;
  const int block = static_cast<int>(blockIdx.x), piece = block % kPieces;
  const int slab = block / kPieces % T::kRigidSlabs, number = block / (kPieces * T::kRigidSlabs);

  // Four parts are on their way at a time.
  float d[8] = {};
#pragma unroll 4
  for (int part = 0; part < sums.parts; ++part) {
    const float4* const from = sums.at(part, number, slab) + piece * 2 * 128;
    const float4 upper = from[0], lower = from[128];
    d[0] += upper.x, d[1] += upper.y, d[2] += upper.z, d[3] += upper.w;
    d[4] += lower.x, d[5] += lower.y, d[6] += lower.z, d[7] += lower.w;
  }

  // Rounded once, and transposed: a warp has 16 columns, lane l gives the address of a row's half.
  const int thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
  ptx::stmatrix_x4_trans(
      rounded + (lane / 16 * 8 + lane % 8) * kRowBytes + (2 * warp + lane / 8 % 2) * 16,
      ptx::pack_bf16(d[0], d[1]), ptx::pack_bf16(d[2], d[3]), ptx::pack_bf16(d[4], d[5]),
      ptx::pack_bf16(d[6], d[7]));
  __syncthreads();
  const int2 at = begin_of_tile<T>(tiles, number, m, n);
  const int row = at.x + 16 * piece + thread / 8, col = at.y + 64 * slab + thread % 8 * 8;
  // What the tile before has, too, it stores.
  const int2 tile = tiles.at(number);
  if (row < tile.x * T::kTileM || col < tile.y * T::kTileN || row >= m) return;
  const uint4 eight = reinterpret_cast<const uint4*>(rounded)[thread];
  __nv_bfloat16* const to = c.data + row * c.pitch;
  if (has_vectors) {
    store_eight<true>(to, 0, col, 1, n, eight);
  } else {
    store_eight<false>(to, 0, col, 1, n, eight);
  }
#else
  (void)sums, (void)c, (void)has_vectors, (void)m, (void)n, (void)tiles;
#endif
}

// C = A B in so many parts, not more than there are k tiles. data: memory for their sums.
template <class T, bool kTransposedB>
void launch_split_k(const Operands& x, int m, int n, int k, int parts, float4* data,
                    cudaStream_t stream) {
  constexpr auto kKernel = bf16_gemm_split_k_kernel<T, kTransposedB>;
  constexpr int kShared = FittedRing<T, true>::kRingBytes;
  static_cast<void>(clusters_at_once<kKernel>(1, T::kThreads, kShared));
  const TileSchedule tiles = grouped_schedule(m, n, T::kTileM, T::kTileN);
  const PartialSums<T> sums = {data, tiles.count(), parts};
  launch_clusters<kKernel>(Start::programmatic, tiles.count() * parts, 1, T::kThreads, kShared,
                           stream, map_of_rows(x.a.data, m, k, std::min(T::kTileM, m), x.a.pitch),
                           map_of_b<kTransposedB>(x.b.data, n, k, T::kTileN, x.b.pitch), sums, m, n,
                           k, tiles);
  const bool has_vectors =
      n % 8 == 0 && x.c.pitch % 8 == 0 && reinterpret_cast<std::uintptr_t>(x.c.data) % 16 == 0;
  launch_clusters<bf16_gemm_add_parts_kernel<T>>(
      Start::programmatic, tiles.count() * T::kRigidSlabs * (T::kTileM / 16), 1, 128, 0, stream,
      sums, x.c, has_vectors, m, n, tiles);
}

// Calls visit(tile) with all tiles to choose from.
template <class Visit>
void each_split_tile(Visit visit) {
  visit(FittedTile<Fitted::height, 1, 1, 96, 1>{});
  visit(FittedTile<Fitted::height, 1, 1, 112, 1>{});
  visit(FittedTile<Fitted::height, 1, 1, 128, 1>{});
  visit(FittedTile<Fitted::height, 1, 1, 144, 1>{});
  visit(FittedTile<Fitted::height, 1, 1, 160, 1>{});
  visit(FittedTile<Fitted::height, 2, 1, 96, 1>{});
  visit(FittedTile<Fitted::height, 2, 1, 112, 1>{});
  visit(FittedTile<Fitted::height, 2, 1, 128, 1>{});
  visit(FittedTile<Fitted::height, 2, 1, 144, 1>{});
  visit(FittedTile<Fitted::height, 2, 1, 160, 1>{});
  visit(FittedTile<Fitted::height, 2, 1, 192, 1>{});
  visit(FittedTile<Fitted::height, 3, 1, 128, 1>{});
}

// In which tiles, and into how many parts each sum is split, and the cycles that this should take.
struct SplitPlan {
  int tile, parts;
  double cycles;
};

// A block's part of k and its sums, at least what it takes to read A and B from memory, and the
// second kernel. What a KB takes of the L2 cache grows with the blocks that ask for it. The numbers
// were fitted to some 6000 products in parts, of 116 shapes in both layouts of B, on an H200.
template <class T>
double cycles_of_split(const Product& product, std::int64_t tiles, std::int64_t parts, int sms) {
  const double elements = T::kTileM * T::kTileN, blocks = static_cast<double>(tiles * parts);
  const double kilobytes = (product.a_reads * T::kTileM + product.b_reads * T::kTileN) / 8;
  const double step = std::max({480.0, elements / 23.2, 24.2 * kilobytes * blocks / sms});
  const double steps = kit::divide_up(kit::divide_up(product.k, kTileK), static_cast<int>(parts));
  const double inputs = 2e-6 * static_cast<double>((product.m + product.n) * product.k);  // MB
  const double sums = 4e-6 * blocks * elements;
  return std::max(1750 + steps * step + 0.51 * elements, 7150 + 520 * inputs) + 420 + 440 * sums;
}

// One part, unless more should be faster than the smallest tiles of by_shape.
constexpr std::int64_t kMostSplitBytes = 16 << 20;  // of partial sums, if there are several parts
inline SplitPlan plan_split_k(const Product& product, int sms) {
  const std::int64_t k_tiles = kit::divide_up(product.k, kTileK);
  const double kilobytes = (product.a_reads * Small::kTileM + product.b_reads * Small::kTileN) / 8;
  const std::int64_t small_tiles = std::int64_t{kit::divide_up(product.m, Small::kTileM)} *
                                   kit::divide_up(product.n, Small::kTileN);
  SplitPlan plan = {0, 1, HUGE_VAL};
  if (small_tiles <= sms) {
    plan.cycles = 3000 + 19.4 * std::max(24.0, kilobytes) * static_cast<double>(k_tiles);
  }
  int number = 0;
  each_split_tile([&](auto tile) {
    using T = decltype(tile);
    const std::int64_t tiles =
        std::int64_t{kit::divide_up(product.m, T::kTileM)} * kit::divide_up(product.n, T::kTileN);
    const std::int64_t most =
        std::min({sms / tiles, k_tiles, kMostSplitBytes / (tiles * T::kTileM * T::kTileN * 4)});
    for (std::int64_t parts = 2; parts <= most; ++parts) {
      const double cycles = cycles_of_split<T>(product, tiles, parts, sms);
      if (cycles < plan.cycles) plan = {number, static_cast<int>(parts), cycles};
    }
    ++number;
  });
  return plan;
}

// Calls visit(tile) with the tile of a plan.
template <class Visit>
void with_split_tile(const SplitPlan& plan, Visit visit) {
  int i = 0;
  each_split_tile([&](auto tile) {
    if (i++ == plan.tile) visit(tile);
  });
}

// Bytes of memory that its sums take.
inline std::int64_t split_bytes(const SplitPlan& plan, int m, int n) {
  std::int64_t bytes = 0;
  with_split_tile(plan, [&](auto tile) {
    using T = decltype(tile);
    const int tiles = kit::divide_up(m, T::kTileM) * kit::divide_up(n, T::kTileN);
    bytes = PartialSums<T>{nullptr, tiles, plan.parts}.bytes();
  });
  return bytes;
}

// C = A B for operands whose rows TMA can load. sums: split_bytes(), aligned to 16.
template <bool kTransposedB>
void multiply_in_parts(const Operands& x, int m, int n, int k, float4* sums, cudaStream_t stream) {
  const SplitPlan plan =
      plan_split_k(Product::of<kTransposedB>(x, m, n, k), kit::multiprocessor_count());
  with_split_tile(plan, [&](auto tile) {
    launch_split_k<decltype(tile), kTransposedB>(x, m, n, k, plan.parts, sums, stream);
  });
}

// C = A B; A is m x k, C is m x n, B is k x n or, if kTransposedB, n x k; all row-major. Device
// pointers; sizes up to 2e9. Throws Skip if TMA cannot take the matrices. partials: split_bytes(),
// this launch's until it has ended.
template <bool kTransposedB>
void bf16_gemm_split_k(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m,
                       int n, int k, float4* partials, cudaStream_t stream) {
  require_vector_rows<kTransposedB>(a, b, c, n, k);
  multiply_in_parts<kTransposedB>(dense<kTransposedB>(a, b, c, n, k), m, n, k, partials, stream);
}

}  // namespace matmul::bf16
