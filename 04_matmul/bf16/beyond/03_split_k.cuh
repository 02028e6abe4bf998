// split_k: where tiles are few, several blocks share the sums of each.
//
// Every block takes a part of k for its tile, and leaves its sums in memory, in fp32 and as its
// threads hold them. A second kernel adds the parts up, in the same order every time, and rounds
// once: every run has the same result. Tiles are transposed, as in full_waves, and as high as lets
// most SMs have a part; of larger ones two side by side load their rows of A once. Where parts do
// not pay, there is one. What is still wrong: while the second kernel adds up, no tensor core
// works.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "04_matmul/bf16/kit/cost_model.cuh"
#include "04_matmul/bf16/kit/few_tiles.cuh"
#include "04_matmul/bf16/kit/fitted_shape.cuh"
#include "04_matmul/bf16/kit/shaped_tile.cuh"
#include "04_matmul/bf16/kit/split_plan.cuh"
#include "04_matmul/kit/cluster.cuh"
#include "04_matmul/kit/gemm_tile.cuh"
#include "04_matmul/kit/scheduler.cuh"
#include "04_matmul/kit/vector_rows.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/pipeline.cuh"
#include "common/kit/ptx/cluster.cuh"
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

// Row and column of tile number `number`, counted in tiles; those of a cluster are side by side.
template <class T>
__device__ inline int2 place_of_tile(const TileSchedule& clusters, int number) {
  const int2 cluster = clusters.at(number / T::kCluster);
  return make_int2(cluster.x, cluster.y * T::kCluster + number % T::kCluster);
}
// Where it begins, row and column: inside of C, as far as C is large enough.
template <class T>
__device__ inline int2 begin_of_tile(int2 place, int m, int n) {
  return make_int2(row_inside(place.x * T::kTileM, T::kTileM, m),
                   col_inside(place.y * T::kTileN, T::kTileN, n));
}

// Block i computes a part of one tile: first come the first parts of all tiles. With 128 registers
// a thread, fewer than 512 leave room on the SM for blocks of the second kernel, which start early.
template <class T, bool kTransposedB>
__global__ void __launch_bounds__(512, 1)
    bf16_gemm_split_k_kernel(const __grid_constant__ CUtensorMap map_a,
                             const __grid_constant__ CUtensorMap map_b, PartialSums<T> sums, int m,
                             int n, int k, TileSchedule clusters) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  static_assert(T::kIsHeight && T::kParts == 1 && T::kDepth == 1, "transposed, a slab each");
  static_assert(T::kFittedBlocks == 1 && T::kCluster <= 2, "alone, or two that share rows of A");
  using Ring = FittedRing<T, true>;
  extern __shared__ __align__(1024) unsigned char ring[];
  __shared__ std::uint64_t full[Ring::kStages], empty[Ring::kStages];
  const int rows = min(T::kTileM, m);  // of a box of A
  for (int s = 0; s < Ring::kStages; ++s) clear_rows(ring + s * Ring::kStageBytes, rows, T::kTileM);
  ptx::fence_proxy_async();
  start_cluster(full, empty, 4 * T::kWarpgroups * T::kCluster);

  // Which tile of C, and which part of k.
  kit::PipelineState<Ring::kStages> state;
  const int number = static_cast<int>(blockIdx.x) % sums.tiles;
  const int part = static_cast<int>(blockIdx.x) / sums.tiles;
  const std::int64_t k_tiles = (k + kTileK - 1) / kTileK;
  const int begin = static_cast<int>(k_tiles * part / sums.parts) * kTileK;
  const int end = static_cast<int>(k_tiles * (part + 1) / sums.parts) * kTileK;
  const int warpgroup = threadIdx.x / 128;
  if (warpgroup == 0) {
    // The producer: only its part of k. Two blocks load their rows of A in turns. B shall leave the
    // L2 cache before the sums, which it has to keep for the second kernel.
    if (threadIdx.x == 0) {
      constexpr unsigned kAll = (1u << T::kCluster) - 1;
      const std::uint64_t policy = ptx::createpolicy_evict_first();
      const int2 at = begin_of_tile<T>(place_of_tile<T>(clusters, number), m, n);
      for (int p = begin; p < end; p += kTileK, state.next()) {
        unsigned char* const stage = ring + state.stage * Ring::kStageBytes;
        kit::wait_empty(empty, state);
        ptx::mbarrier_arrive_expect_tx(&full[state.stage],
                                       Ring::kStageBytes - (T::kTileM - rows) * kRowBytes);
        load_by_turns<T::kCluster, true>(stage, &map_a, p, at.x, &full[state.stage], p / kTileK,
                                         number % T::kCluster, kAll);
        issue_b_cache_hint<kTransposedB, T::kTileN>(stage + Ring::kFittedBytes, &map_b, p, at.y,
                                                    &full[state.stage], policy);
      }
    }
    __syncwarp();
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
      if (p > begin) release_stage<T>(&empty[before]);
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
  if constexpr (T::kCluster > 1) {
    // A block may not end while the other still writes to its memory.
    ptx::cluster_arrive();
    ptx::cluster_wait();
  }
#else
  (void)map_a, (void)map_b, (void)sums, (void)m, (void)n, (void)k, (void)clusters;
#endif
}

// C = the sum of all parts, part 0 first: in another order it might round otherwise. A block adds
// up 16 rows of 64 columns. has_vectors: C's rows can be stored 16 bytes at a time.
template <class T>
__global__ void __launch_bounds__(128)
    bf16_gemm_add_parts_kernel(PartialSums<T> sums, Rows<__nv_bfloat16> c, bool has_vectors, int m,
                               int n, TileSchedule clusters) {
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
  const int2 tile = place_of_tile<T>(clusters, number), at = begin_of_tile<T>(tile, m, n);
  const int row = at.x + 16 * piece + thread / 8, col = at.y + 64 * slab + thread % 8 * 8;
  // What the tile before has, too, it stores.
  if (row < tile.x * T::kTileM || col < tile.y * T::kTileN || row >= m) return;
  const uint4 eight = reinterpret_cast<const uint4*>(rounded)[thread];
  __nv_bfloat16* const to = c.data + row * c.pitch;
  if (has_vectors) {
    store_eight<true>(to, 0, col, 1, n, eight);
  } else {
    store_eight<false>(to, 0, col, 1, n, eight);
  }
#else
  (void)sums, (void)c, (void)has_vectors, (void)m, (void)n, (void)clusters;
#endif
}

// C = A B in so many parts, not more than there are k tiles. data: memory for their sums.
template <class T, bool kTransposedB>
void launch_split_k(const Operands& x, int m, int n, int k, int parts, float4* data,
                    cudaStream_t stream) {
  constexpr auto kKernel = bf16_gemm_split_k_kernel<T, kTransposedB>;
  constexpr int kShared = FittedRing<T, true>::kRingBytes;
  const int most = clusters_at_once<kKernel>(T::kCluster, T::kThreads, kShared);
  const TileSchedule clusters = one_wave_schedule(m, n, T::kTileM, T::kAcross * T::kTileN, most);
  const PartialSums<T> sums = {data, clusters.count() * T::kCluster, parts};
  launch_clusters<kKernel>(
      Start::programmatic, clusters.count() * parts, T::kCluster, T::kThreads, kShared, stream,
      map_of_rows(x.a.data, m, k, std::min(T::kTileM, m), x.a.pitch),
      map_of_b<kTransposedB>(x.b.data, n, k, T::kTileN, x.b.pitch), sums, m, n, k, clusters);
  const bool has_vectors =
      n % 8 == 0 && x.c.pitch % 8 == 0 && reinterpret_cast<std::uintptr_t>(x.c.data) % 16 == 0;
  launch_clusters<bf16_gemm_add_parts_kernel<T>>(
      Start::programmatic, sums.tiles * T::kRigidSlabs * (T::kTileM / 16), 1, 128, 0, stream, sums,
      x.c, has_vectors, m, n, clusters);
}

// Bytes of memory that its sums take.
inline std::int64_t split_bytes(const SplitPlan& plan, int m, int n) {
  std::int64_t bytes = 0;
  with_split_tile(plan, [&](auto tile) {
    using T = decltype(tile);
    bytes = PartialSums<T>{nullptr, static_cast<int>(count_tiles<T>(m, n)), plan.parts}.bytes();
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
