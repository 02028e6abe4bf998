// split_k: where tiles are few, several blocks share the sums of each.
//
// Every block takes a part of k for its tile, and leaves its sums in memory, in fp32. A second
// kernel adds the parts up and rounds once. It does so in the same order every time, so there are
// no atomic additions, and the result is the same in every run. Most of what it reads is still in
// the L2 cache. Where parts do not pay, there is one. What is still wrong: while the second kernel
// starts and adds up, the tensor cores do nothing.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "04_matmul/bf16/kit/cost_model.cuh"
#include "04_matmul/bf16/kit/shaped_tile.cuh"
#include "04_matmul/kit/cluster.cuh"
#include "04_matmul/kit/gemm_tile.cuh"
#include "04_matmul/kit/scheduler.cuh"
#include "04_matmul/kit/vector_rows.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/pipeline.cuh"
#include "common/kit/ptx/grid.cuh"
#include "common/kit/ptx/mma.cuh"
#include "common/kit/ptx/roles.cuh"
#include "common/kit/ptx/tma.cuh"
#include "common/kit/ptx/wgmma.cuh"

namespace matmul::bf16 {

// The sums of all parts, one after the other: each has m rows of `pitch` floats.
struct PartialSums {
  float* data;
  int m, pitch, parts;

  PartialSums(float* data, int m, int n, int parts)
      : data(data), m(m), pitch(kit::divide_up(n, 8) * 8), parts(parts) {}
  __host__ __device__ std::int64_t count() const { return std::int64_t{parts} * m * pitch; }
  __device__ float* at(int part, int row, int col) const {
    return data + (std::int64_t{part} * m + row) * pitch + col;
  }
};

// Block i computes a part of one tile: first come the first parts of all tiles.
template <class T, bool kTransposedB>
__global__ void __launch_bounds__(T::kThreads, 1)
    bf16_gemm_split_k_kernel(const __grid_constant__ CUtensorMap map_a,
                             const __grid_constant__ CUtensorMap map_b, PartialSums sums, int k,
                             TileSchedule tiles) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  static_assert(T::kCluster == 1 && T::kParts == 1, "a block alone, 64 rows per warpgroup");
  extern __shared__ __align__(1024) unsigned char ring[];
  __shared__ std::uint64_t full[T::kStages], empty[T::kStages];
  start_cluster(full, empty, 4 * T::kWarpgroups);

  // Which tile of C, and which part of k.
  kit::PipelineState<T::kStages> state;
  const int2 tile = tiles.at(static_cast<int>(blockIdx.x) % tiles.count());
  const int part = static_cast<int>(blockIdx.x) / tiles.count();
  const int row = tile.x * T::kTileM, col = tile.y * T::kTileN;
  const std::int64_t k_tiles = (k + kTileK - 1) / kTileK;
  const int begin = static_cast<int>(k_tiles * part / sums.parts) * kTileK;
  const int end = static_cast<int>(k_tiles * (part + 1) / sums.parts) * kTileK;
  const int warpgroup = threadIdx.x / 128;
  if (warpgroup == 0) {
    // The producer: only its part of k.
    if constexpr (T::kWarpgroups == 2) ptx::setmaxnreg_dec<T::kProducerRegisters>();
    if (threadIdx.x == 0) {
      for (int p = begin; p < end; p += kTileK, state.next()) {
        unsigned char* const stage = ring + state.stage * T::kStageBytes;
        kit::wait_empty(empty, state);
        ptx::mbarrier_arrive_expect_tx(&full[state.stage], T::kStageBytes);
        ptx::tensor_load(stage, &map_a, p, row, &full[state.stage]);
        issue_b<kTransposedB, T::kTileN>(stage + T::kBytesA, &map_b, p, col, &full[state.stage]);
      }
    }
  } else {
    // The consumers, as in in_flight: 64 rows each.
    if constexpr (T::kWarpgroups == 2) ptx::setmaxnreg_inc<T::kConsumerRegisters>();
    const int first_row = (warpgroup - 1) * 64;
    float acc[T::kTileN / 2];
    int before = 0;
    for (int p = begin; p < end; p += kTileK, state.next()) {
      const unsigned char* const stage = ring + state.stage * T::kStageBytes;
      kit::wait_full(full, state);
      ptx::wgmma_fence();
      issue_k_tile<kTransposedB>(acc, stage + first_row * kRowBytes, stage + T::kBytesA,
                                 p == begin);
      ptx::wgmma_commit_group();
      ptx::wgmma_wait_group<1>();
      if (p > begin) release_stage<T>(&empty[before]);
      before = state.stage;
    }
    ptx::wgmma_wait_group<0>();
    ptx::fence_registers(acc);

    // Their sums, unrounded: four lanes write a sector of 32 bytes.
    const int warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < T::kTileN / 2; i += 2) {
      const int y = row + first_row + 16 * warp + lane / 4 + i / 2 % 2 * 8;
      const int x = col + i / 4 * 8 + lane % 4 * 2;
      if (y < sums.m && x < sums.pitch) {
        *reinterpret_cast<float2*>(sums.at(part, y, x)) = make_float2(acc[i], acc[i + 1]);
      }
    }
  }
#else
  (void)map_a, (void)map_b, (void)sums, (void)k, (void)tiles;
#endif
}

// C = the sum of all parts, part 0 first: in another order it might round otherwise. Eight columns
// per thread. has_vectors: C's rows can be stored 16 bytes at a time.
constexpr int kAddThreads = 256;
static __global__ void __launch_bounds__(kAddThreads)
    bf16_gemm_add_parts_kernel(PartialSums sums, Rows<__nv_bfloat16> c, bool has_vectors, int n) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  ptx::griddepcontrol_launch_dependents();
  ptx::griddepcontrol_wait();
  const std::int64_t i = std::int64_t{blockIdx.x} * kAddThreads + threadIdx.x;
  const int row = static_cast<int>(i / (sums.pitch / 8));
  const int col = static_cast<int>(i % (sums.pitch / 8)) * 8;
  if (row >= sums.m) return;

  // Four parts are on their way at a time.
  float total[8] = {};
#pragma unroll 4
  for (int part = 0; part < sums.parts; ++part) {
    const auto* const eight = reinterpret_cast<const float4*>(sums.at(part, row, col));
    const float4 left = eight[0], right = eight[1];
    total[0] += left.x, total[1] += left.y, total[2] += left.z, total[3] += left.w;
    total[4] += right.x, total[5] += right.y, total[6] += right.z, total[7] += right.w;
  }

  // Rounded once.
  const uint4 rounded =
      make_uint4(ptx::pack_bf16(total[0], total[1]), ptx::pack_bf16(total[2], total[3]),
                 ptx::pack_bf16(total[4], total[5]), ptx::pack_bf16(total[6], total[7]));
  __nv_bfloat16* const to = c.data + row * c.pitch;
  if (has_vectors) {
    store_eight<true>(to, 0, col, 1, n, rounded);
  } else {
    store_eight<false>(to, 0, col, 1, n, rounded);
  }
#else
  (void)sums, (void)c, (void)has_vectors, (void)n;
#endif
}

// C = A B in sums.parts parts, not more than there are k tiles.
template <class T, bool kTransposedB>
void launch_split_k(const Operands& x, const PartialSums& sums, int n, int k, cudaStream_t stream) {
  constexpr auto kKernel = bf16_gemm_split_k_kernel<T, kTransposedB>;
  static_cast<void>(clusters_at_once<kKernel>(1, T::kThreads, T::kRingBytes));
  const TileSchedule tiles = grouped_schedule(sums.m, n, T::kTileM, T::kTileN);
  launch_clusters<kKernel>(
      Start::programmatic, tiles.count() * sums.parts, 1, T::kThreads, T::kRingBytes, stream,
      map_of_rows(x.a.data, sums.m, k, T::kTileM, x.a.pitch),
      map_of_b<kTransposedB>(x.b.data, n, k, T::kTileN, x.b.pitch), sums, k, tiles);
  const bool has_vectors =
      n % 8 == 0 && x.c.pitch % 8 == 0 && reinterpret_cast<std::uintptr_t>(x.c.data) % 16 == 0;
  launch_clusters<bf16_gemm_add_parts_kernel>(
      Start::programmatic, kit::divide_up(sums.count() / sums.parts, 8 * kAddThreads), 1,
      kAddThreads, 0, stream, sums, x.c, has_vectors, n);
}

// Tiles to choose from.
template <class Visit>
void each_split_tile(Visit visit) {
  visit(Small{});
  visit(Square{});
}

// In which tiles, and into how many parts each sum is split, and the cycles that this should take.
// Blocks that are at different values of k share less in the L2 cache; that, and what it costs to
// leave the parts and to add them up, was measured on an H200.
struct SplitPlan {
  int tile, parts;
  double cycles;
};
constexpr double kSquareIsSlower = 1.3, kCyclesOfPart = 500, kCyclesOfMegabyte = 2600;
constexpr std::int64_t kMostSplitBytes = 12 << 20;  // of partial sums, if there are several parts
inline SplitPlan plan_split_k(const Product& product, int sms) {
  SplitPlan plan = {0, 1, HUGE_VAL};
  const std::int64_t k_tiles = kit::divide_up(product.k, kTileK);
  const std::int64_t bytes = product.m * (product.n + 7) * 4;  // of a part
  int number = 0;
  each_split_tile([&](auto tile) {
    using T = decltype(tile);
    const double of_k_tile =
        cycles_of_k_tile<T>(product) * (T::kTileM == Square::kTileM ? kSquareIsSlower : 1);
    const std::int64_t tiles =
        std::int64_t{kit::divide_up(product.m, T::kTileM)} * kit::divide_up(product.n, T::kTileN);
    const std::int64_t most = std::min({sms / tiles, k_tiles, kMostSplitBytes / bytes});
    for (std::int64_t parts = 1; parts == 1 || parts <= most; ++parts) {
      const double waves = kit::divide_up(tiles * parts, sms);
      const double of_tile =
          cycles_of_tile(of_k_tile, T::kTileM * T::kTileN, kTileK * kit::divide_up(k_tiles, parts));
      const double of_part = kCyclesOfPart + kCyclesOfMegabyte * 1e-6 * static_cast<double>(bytes);
      const double cycles = kCyclesOfLaunch + waves * of_tile + of_part * parts;
      if (cycles < plan.cycles) plan = {number, static_cast<int>(parts), cycles};
    }
    ++number;
  });
  return plan;
}

// Bytes of memory that its sums take.
inline std::int64_t split_bytes(const SplitPlan& plan, int m, int n) {
  return 4 * PartialSums(nullptr, m, n, plan.parts).count();
}

// C = A B for operands whose rows TMA can load. sums: split_bytes(), aligned to 16.
template <bool kTransposedB>
void multiply_in_parts(const Operands& x, int m, int n, int k, float* sums, cudaStream_t stream) {
  const SplitPlan plan =
      plan_split_k(Product::of<kTransposedB>(x, m, n, k), kit::multiprocessor_count());
  int i = 0;
  each_split_tile([&](auto tile) {
    if (i++ != plan.tile) return;
    launch_split_k<decltype(tile), kTransposedB>(x, {sums, m, n, plan.parts}, n, k, stream);
  });
}

// C = A B; A is m x k, C is m x n, B is k x n or, if kTransposedB, n x k; all row-major. Device
// pointers; sizes up to 2e9. Throws Skip if TMA cannot take the matrices. partials: split_bytes(),
// this launch's until it has ended.
template <bool kTransposedB>
void bf16_gemm_split_k(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m,
                       int n, int k, float4* partials, cudaStream_t stream) {
  require_vector_rows<kTransposedB>(a, b, c, n, k);
  multiply_in_parts<kTransposedB>(dense<kTransposedB>(a, b, c, n, k), m, n, k,
                                  reinterpret_cast<float*>(partials), stream);
}

}  // namespace matmul::bf16
