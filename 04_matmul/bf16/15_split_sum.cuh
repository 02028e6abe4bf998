// Rung 15, split_sum: where tiles are few, the blocks of a cluster share their sums.
//
// Each block of a cluster takes a part of k for the same tile. In the end each adds up some rows of
// it, which it reads straight from the shared memory of the others (distributed shared memory). No
// atomic additions, no memory to allocate, and the same result in every run: the parts are always
// added in the same order. What is still wrong: where the width of C is not a multiple of a tile's,
// the last column of tiles is computed nearly in vain.
#pragma once

#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <array>
#include <cstdint>

#include "04_matmul/bf16/06_multistage.cuh"
#include "04_matmul/bf16/14_by_shape.cuh"
#include "04_matmul/bf16/clusters.cuh"
#include "04_matmul/bf16/hopper.cuh"
#include "04_matmul/bf16/tiles.cuh"
#include "04_matmul/sgemm/tiles.cuh"

constexpr int kMostParts = 8;  // of a sum: larger clusters would not be portable

// The cluster computes one tile, number blockIdx.x / (blocks of the cluster); block r the steps of
// part r of k. T: for one warpgroup that multiplies.
template <class T, bool kTransposedB>
__global__ void __launch_bounds__(T::kThreads, 1)
    bf16_gemm_split_sum_kernel(const __grid_constant__ CUtensorMap map_a,
                               const __grid_constant__ CUtensorMap map_b, __nv_bfloat16* c, int m,
                               int n, int k, int parts, TileOrder tiles) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  constexpr int kPitch = T::kCols + 8;  // of a row of sums, floats: two rows are 8 banks apart
  static_assert(T::kWarpgroups == 1 && T::kParts == 1, "one warpgroup has all sums of the tile");
  static_assert(T::kRows * kPitch * sizeof(float) <= T::kRingBytes, "the sums fit into the ring");
  extern __shared__ __align__(1024) unsigned char ring[];
  __shared__ std::uint64_t full[T::kStages], empty[T::kStages];
  prepare_ring<T>(full, empty, 4);

  RingPlace<T::kStages> place;
  const auto cluster = cooperative_groups::this_cluster();
  const int rank = static_cast<int>(cluster.block_rank());
  const int2 tile = tiles.at(static_cast<int>(blockIdx.x) / parts);
  const int row = tile.x * T::kRows, col = tile.y * T::kCols;
  const int steps = (k + kStep - 1) / kStep;
  const int begin = steps * rank / parts * kStep, end = steps * (rank + 1) / parts * kStep;
  float* const sums = reinterpret_cast<float*>(ring);
  if (threadIdx.x < 128) {
    if (threadIdx.x == 0) {
      for (int p = begin; p < end; p += kStep, place.next()) {
        unsigned char* const stage = ring + place.stage * T::kStageBytes;
        wait(&empty[place.stage], place.phase ^ 1);
        ptx::mbarrier_arrive_expect_tx(&full[place.stage], T::kStageBytes);
        ptx::tensor_load(stage, &map_a, p, row, &full[place.stage]);
        order_b<kTransposedB, T::kCols>(stage + T::kBytesA, &map_b, p, col, &full[place.stage]);
      }
    }
    __syncwarp();
  } else {
    const int warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32;
    float sum[T::kCols / 2];
    int before = 0;
    for (int p = begin; p < end; p += kStep, place.next()) {
      const unsigned char* const stage = ring + place.stage * T::kStageBytes;
      wait(&full[place.stage], place.phase);
      ptx::wgmma_fence();
      multiply_step<kTransposedB>(sum, stage, stage + T::kBytesA, p == begin);
      ptx::wgmma_commit_group();
      ptx::wgmma_wait_group<1>();
      if (p > begin) release_stage<T>(&empty[before]);
      before = place.stage;
    }
    ptx::wgmma_wait_group<0>();
    ptx::fence_registers(sum);
    ptx::named_barrier_sync(1, 128);  // all steps are multiplied: the ring's memory is free
#pragma unroll
    for (int i = 0; i < T::kCols / 2; i += 2) {
      const int y = 16 * warp + lane / 4 + i / 2 % 2 * 8, x = i / 4 * 8 + lane % 4 * 2;
      *reinterpret_cast<float2*>(sums + y * kPitch + x) = make_float2(sum[i], sum[i + 1]);
    }
  }
  cluster.sync();  // everybody's sums can be read

  // This block adds up its rows, eight columns a thread, always in the same order.
  constexpr int kEights = T::kCols / 8;
  const int first_row = T::kRows * rank / parts, rows = T::kRows * (rank + 1) / parts - first_row;
  for (int i = threadIdx.x; i < rows * kEights; i += T::kThreads) {
    const int y = first_row + i / kEights, x = i % kEights * 8;
    float4 from[kMostParts][2];  // all are asked for before the first is needed
#pragma unroll
    for (int part = 0; part < kMostParts; ++part) {
      if (part < parts) {
        const auto* remote =
            reinterpret_cast<const float4*>(cluster.map_shared_rank(sums + y * kPitch + x, part));
        from[part][0] = remote[0];
        from[part][1] = remote[1];
      }
    }
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
    store_eight<true>(
        c, row + y, col + x, m, n,
        make_uint4(ptx::pack_bf16(total[0], total[1]), ptx::pack_bf16(total[2], total[3]),
                   ptx::pack_bf16(total[4], total[5]), ptx::pack_bf16(total[6], total[7])));
  }
  cluster.sync();  // a block may not end while others read its memory
#else
  (void)map_a, (void)map_b, (void)c, (void)m, (void)n, (void)k, (void)parts, (void)tiles;
#endif
}

// How many clusters of 2, 4 and 8 blocks the device runs at once. Clusters that must wait for a
// second round would double the time.
using RoomForParts = std::array<int, 3>;
template <bool kTransposedB>
const RoomForParts& room_for_parts() {
  static const RoomForParts kRoom = [] {
    RoomForParts room;
    for (int i = 0; i < 3; ++i) {
      room[i] = ask_clusters_at_once(bf16_gemm_split_sum_kernel<Small, kTransposedB>, 2 << i,
                                     Small::kThreads, Small::kSharedBytes);
    }
    return room;
  }();
  return kRoom;
}

// Launches clusters of `parts` blocks, 1 to kMostParts and not more than there are steps.
template <bool kTransposedB>
void launch_split_sum(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m,
                      int n, int k, int parts, cudaStream_t stream) {
  using T = Small;
  constexpr auto kKernel = bf16_gemm_split_sum_kernel<T, kTransposedB>;
  static_cast<void>(room_for_parts<kTransposedB>());  // allows the kernel its shared memory
  const TileOrder tiles = order_in_bands(m, n, T::kRows, T::kCols);
  launch_clusters<kKernel>(Start::early, tiles.count(), parts, T::kThreads, T::kSharedBytes, stream,
                           map_of_a(a, m, k, T::kRows), map_of_b<kTransposedB>(b, n, k, T::kCols),
                           c, m, n, k, parts, tiles);
}

// Into how many parts each sum is split, 1 if that takes the fewest clocks. Larger clusters start
// later and have more to add up: the clocks for that were measured on an H200.
inline int parts_of_sum(const Product& product, int sms, const RoomForParts& room) {
  constexpr double kClocksOfSharing[3] = {2500, 6000, 8000};
  const std::int64_t tiles =
      std::int64_t{divide_up(product.m, Small::kRows)} * divide_up(product.n, Small::kCols);
  const int steps = divide_up(product.k, kStep);
  int best = 1;
  double fewest = fewest_clocks_by_shape(product, sms);
  for (int i = 0; i < 3; ++i) {
    const int parts = 2 << i;
    if (tiles > room[i] || parts > steps) break;
    const Product part = {Small::kRows, Small::kCols, divide_up(product.k, parts), product.a_reads,
                          product.b_reads};
    const double clocks = clocks_by_shape<Small>(part, sms) + kClocksOfSharing[i];
    if (clocks < fewest) {
      fewest = clocks;
      best = parts;
    }
  }
  return best;
}

// C = A B; A is m x k, C is m x n, B is k x n or, if kTransposedB, n x k; all row-major. Device
// pointers; sizes up to 2e9.
template <bool kTransposedB>
void bf16_gemm_split_sum(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m,
                         int n, int k, cudaStream_t stream) {
  if (!fits_copy_engine(a, k, b, kTransposedB ? k : n, c, n)) {
    return bf16_gemm_multistage<kTransposedB>(a, b, c, m, n, k, stream);
  }
  const int parts = parts_of_sum(Product::of<kTransposedB>(m, n, k), multiprocessor_count(),
                                 room_for_parts<kTransposedB>());
  if (parts == 1) return bf16_gemm_by_shape<kTransposedB>(a, b, c, m, n, k, stream);
  launch_split_sum<kTransposedB>(a, b, c, m, n, k, parts, stream);
}
