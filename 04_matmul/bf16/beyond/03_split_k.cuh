// split_k: where tiles are few, the blocks of a cluster share their sums.
//
// Each block of a cluster takes a part of k for the same tile. In the end each adds up some rows of
// it, which it reads straight from the shared memory of the others (distributed shared memory). No
// atomic additions, no memory to allocate, and the same result in every run: the parts are always
// added in the same order. Where that does not pay, there is one part. What is still wrong: its
// tiles are small, 64 x 128; large products want large ones.
#pragma once

#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <array>
#include <cstdint>
#include <type_traits>

#include "04_matmul/bf16/kit/cost_model.cuh"
#include "04_matmul/bf16/kit/shaped_tile.cuh"
#include "04_matmul/kit/cluster.cuh"
#include "04_matmul/kit/gemm_tile.cuh"
#include "04_matmul/kit/scheduler.cuh"
#include "04_matmul/kit/vector_rows.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/pipeline.cuh"
#include "common/kit/ptx/mma.cuh"
#include "common/kit/ptx/roles.cuh"
#include "common/kit/ptx/tma.cuh"
#include "common/kit/ptx/wgmma.cuh"

namespace matmul::bf16 {

constexpr int kMostParts = 8;  // of a sum: larger clusters would not be portable

// The cluster computes one tile, number blockIdx.x / (blocks of the cluster); block r its
// part r of k. T: for one warpgroup that multiplies.
// C: a pointer where C has nothing between its rows and they begin at multiples of 16 bytes, or
// LooseC.
template <class T, bool kTransposedB, class C = __nv_bfloat16*>
__global__ void __launch_bounds__(T::kThreads, 1)
    bf16_gemm_split_k_kernel(const __grid_constant__ CUtensorMap map_a,
                             const __grid_constant__ CUtensorMap map_b, C c, int m, int n, int k,
                             int parts, TileSchedule tiles) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  constexpr int kPitch = T::kTileN + 8;  // of a row of sums, floats: two rows are 8 banks apart
  static_assert(T::kWarpgroups == 1 && T::kParts == 1, "one warpgroup has all sums of the tile");
  static_assert(T::kTileM * kPitch * sizeof(float) <= T::kRingBytes, "the sums fit into the ring");
  extern __shared__ __align__(1024) unsigned char ring[];
  __shared__ std::uint64_t full[T::kStages], empty[T::kStages];
  start_cluster(full, empty, 4);

  // Which tile of C, and which part of k.
  kit::PipelineState<T::kStages> state;
  const auto cluster = cooperative_groups::this_cluster();
  const int rank = static_cast<int>(cluster.block_rank());
  const int2 tile = tiles.at(static_cast<int>(blockIdx.x) / parts);
  const int row = tile.x * T::kTileM, col = tile.y * T::kTileN;
  const int k_tiles = (k + kTileK - 1) / kTileK;
  const int begin = k_tiles * rank / parts * kTileK, end = k_tiles * (rank + 1) / parts * kTileK;
  float* const sums = reinterpret_cast<float*>(ring);
  if (threadIdx.x < 128) {
    // The producer: only its part of k.
    if (threadIdx.x == 0) {
      for (int p = begin; p < end; p += kTileK, state.next()) {
        unsigned char* const stage = ring + state.stage * T::kStageBytes;
        kit::wait_empty(empty, state);
        ptx::mbarrier_arrive_expect_tx(&full[state.stage], T::kStageBytes);
        ptx::tensor_load(stage, &map_a, p, row, &full[state.stage]);
        issue_b<kTransposedB, T::kTileN>(stage + T::kBytesA, &map_b, p, col, &full[state.stage]);
      }
    }
    __syncwarp();
  } else {
    // The consumers: their sums over this part of k.
    const int warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32;

    // As in_flight, for one warpgroup.
    float acc[T::kTileN / 2];
    int before = 0;
    for (int p = begin; p < end; p += kTileK, state.next()) {
      const unsigned char* const stage = ring + state.stage * T::kStageBytes;
      kit::wait_full(full, state);
      ptx::wgmma_fence();
      issue_k_tile<kTransposedB>(acc, stage, stage + T::kBytesA, p == begin);
      ptx::wgmma_commit_group();
      ptx::wgmma_wait_group<1>();
      if (p > begin) release_stage<T>(&empty[before]);
      before = state.stage;
    }
    ptx::wgmma_wait_group<0>();
    ptx::fence_registers(acc);

    // They go to shared memory in fp32, where the other blocks find them.
    ptx::named_barrier_sync(1, 128);  // all are done: the ring's memory is free
#pragma unroll
    for (int i = 0; i < T::kTileN / 2; i += 2) {
      const int y = 16 * warp + lane / 4 + i / 2 % 2 * 8, x = i / 4 * 8 + lane % 4 * 2;
      *reinterpret_cast<float2*>(sums + y * kPitch + x) = make_float2(acc[i], acc[i + 1]);
    }
  }
  __syncthreads();  // racecheck (compute-sanitizer) does not follow the cluster's barrier
  cluster.sync();   // everybody's sums can be read

  // This block adds up its rows, eight columns per thread, always in the same order.
  constexpr int kEights = T::kTileN / 8;
  const int first_row = T::kTileM * rank / parts, rows = T::kTileM * (rank + 1) / parts - first_row;
  for (int i = threadIdx.x; i < rows * kEights; i += T::kThreads) {
    const int y = first_row + i / kEights, x = i % kEights * 8;
    float4 from[kMostParts][2] = {};  // all are asked for before the first is needed
#pragma unroll
    for (int part = 0; part < kMostParts; ++part) {
      if (part < parts) {
        const auto* remote =
            reinterpret_cast<const float4*>(cluster.map_shared_rank(sums + y * kPitch + x, part));
        from[part][0] = remote[0];
        from[part][1] = remote[1];
      }
    }

    // Part 0 first: in another order the sum might round otherwise.
    float total[8] = {};
#pragma unroll
    for (int part = 0; part < kMostParts; ++part) {
      if (part < parts) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          total[4 * half] += from[part][half].x;
          total[4 * half + 1] += from[part][half].y;
          total[4 * half + 2] += from[part][half].z;
          total[4 * half + 3] += from[part][half].w;
        }
      }
    }
    const uint4 eight =
        make_uint4(ptx::pack_bf16(total[0], total[1]), ptx::pack_bf16(total[2], total[3]),
                   ptx::pack_bf16(total[4], total[5]), ptx::pack_bf16(total[6], total[7]));
    if constexpr (std::is_pointer_v<C>) {
      store_eight<true>(c, row + y, col + x, m, n, eight);
    } else if (row + y < m) {
      store_eight<false>(c.rows.data + (row + y) * c.rows.pitch, 0, col + x, 1, n, eight);
    }
  }
  cluster.sync();  // a block may not end while others read its memory
#else
  (void)map_a, (void)map_b, (void)c, (void)m, (void)n, (void)k, (void)parts, (void)tiles;
#endif
}

// How many clusters of 2, 4 and 8 blocks the device runs at once. Clusters that must wait for a
// second wave would double the time.
using RoomForParts = std::array<int, 3>;
template <bool kTransposedB, class C = __nv_bfloat16*>
const RoomForParts& room_for_parts() {
  static const RoomForParts kRoom = [] {
    RoomForParts room;
    for (int i = 0; i < 3; ++i) {
      room[i] = query_clusters_at_once(bf16_gemm_split_k_kernel<Small, kTransposedB, C>, 2 << i,
                                       Small::kThreads, Small::kSharedBytes);
    }
    return room;
  }();
  return kRoom;
}

// Launches clusters of `parts` blocks, 1 to kMostParts and not more than there are k tiles.
template <bool kTransposedB, class C>
void launch_split_k(const Operands& x, const C& c, int m, int n, int k, int parts,
                    cudaStream_t stream) {
  using T = Small;
  constexpr auto kKernel = bf16_gemm_split_k_kernel<T, kTransposedB, C>;
  static_cast<void>(room_for_parts<kTransposedB, C>());  // allows the kernel its shared memory
  const TileSchedule tiles = grouped_schedule(m, n, T::kTileM, T::kTileN);
  launch_clusters<kKernel>(Start::programmatic, tiles.count(), parts, T::kThreads, T::kSharedBytes,
                           stream, map_of_rows(x.a.data, m, k, T::kTileM, x.a.pitch),
                           map_of_b<kTransposedB>(x.b.data, n, k, T::kTileN, x.b.pitch), c, m, n, k,
                           parts, tiles);
}

// Into how many parts each sum is split, and the cycles that this should take. Larger clusters
// start later and have more to add up: the cycles for that were measured on an H200.
struct SplitPlan {
  int parts;
  double cycles;
};
inline SplitPlan plan_split_k(const Product& product, int sms, const RoomForParts& room) {
  constexpr double kCyclesOfSharing[3] = {9000, 12000, 8000};
  const std::int64_t tiles = std::int64_t{kit::divide_up(product.m, Small::kTileM)} *
                             kit::divide_up(product.n, Small::kTileN);
  const int k_tiles = kit::divide_up(product.k, kTileK);
  SplitPlan plan = {1, estimated_cycles<Small>(product, sms)};
  for (int i = 0; i < 3; ++i) {
    const int parts = 2 << i;
    if (tiles > room[i] || parts > k_tiles) break;
    const Product part = {Small::kTileM,   Small::kTileN,   kit::divide_up(product.k, parts),
                          product.a_reads, product.b_reads, product.is_b_transposed};
    const double cycles = estimated_cycles<Small>(part, sms) + kCyclesOfSharing[i];
    if (cycles < plan.cycles) plan = {parts, cycles};
  }
  return plan;
}

// C = A B for operands whose rows TMA can load; kLoose: C's rows may begin anywhere.
template <bool kTransposedB, bool kLoose>
void multiply_in_parts(const Operands& x, int m, int n, int k, cudaStream_t stream) {
  // The stores of 16 bytes know no other distance of rows.
  if (!kLoose && x.c.pitch != n) {
    return multiply_in_parts<kTransposedB, true>(x, m, n, k, stream);
  }
  using C = std::conditional_t<kLoose, LooseC, __nv_bfloat16*>;
  const SplitPlan plan =
      plan_split_k(Product::of<kTransposedB>(x, m, n, k), kit::multiprocessor_count(),
                   room_for_parts<kTransposedB, C>());
  if constexpr (kLoose) launch_split_k<kTransposedB>(x, C{x.c, m, n}, m, n, k, plan.parts, stream);
  if constexpr (!kLoose) launch_split_k<kTransposedB>(x, x.c.data, m, n, k, plan.parts, stream);
}

// C = A B; A is m x k, C is m x n, B is k x n or, if kTransposedB, n x k; all row-major. Device
// pointers; sizes up to 2e9. Throws Skip if TMA cannot take the matrices.
template <bool kTransposedB>
void bf16_gemm_split_k(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m,
                       int n, int k, cudaStream_t stream) {
  require_vector_rows<kTransposedB>(a, b, c, n, k);
  multiply_in_parts<kTransposedB, false>(dense<kTransposedB>(a, b, c, n, k), m, n, k, stream);
}

}  // namespace matmul::bf16
