// Rung 12, async_store: C goes through shared memory, and the copy engine stores it.
//
// A lane has pairs of neighbours of C: a warp stores 16 bytes of each of 8 rows, half sectors. Now
// stmatrix brings the rounded sums to shared memory, swizzled as the copy engine expects, and one
// thread orders a store for 64 columns at a time, of which two overlap. Easily forgotten: every
// thread that writes needs a proxy fence; only the thread that ordered a store can wait for it; its
// memory may be filled again only when the engine has read it. What is still wrong: between two
// launches the chip is idle for some microseconds.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/bf16/06_multistage.cuh"
#include "04_matmul/bf16/11_multicast.cuh"
#include "04_matmul/bf16/clusters.cuh"
#include "04_matmul/bf16/hopper.cuh"
#include "04_matmul/sgemm/tiles.cuh"

constexpr int kStagingSlabs = 2;
constexpr int kStagingBytes = kStagingSlabs * kSlabBytes;  // of a warpgroup

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// Rounds the sums of a warpgroup, 64 rows by 2 kCount columns, and has the copy engine store them
// at (row, col), slab by slab. Returns before they have arrived. `barrier`: of this warpgroup.
template <int kCount>
__device__ inline void store_slabs(const float (&sum)[kCount], unsigned char* staging,
                                   const CUtensorMap* map_c, int row, int col, int barrier) {
  const int thread = threadIdx.x % 128, warp = thread / 32, lane = thread % 32;
  const int y = 16 * warp + lane % 16;  // whose address this lane gives to stmatrix
#pragma unroll
  for (int s = 0; s < kCount / 32; ++s) {
    unsigned char* const slab = staging + s % kStagingSlabs * kSlabBytes;
    if (thread == 0) ptx::bulk_wait_group_read<kStagingSlabs - 1>();
    ptx::named_barrier_sync(barrier, 128);  // the slab is free
#pragma unroll
    for (int j = 0; j < 4; ++j) {  // 16 columns each; lanes 16 .. 31 address the right half
      const float* d = &sum[32 * s + 8 * j];
      const int piece = (2 * j + lane / 16) ^ (y % 8);
      ptx::stmatrix_x4(slab + y * kRowBytes + piece * 16, ptx::pack_bf16(d[0], d[1]),
                       ptx::pack_bf16(d[2], d[3]), ptx::pack_bf16(d[4], d[5]),
                       ptx::pack_bf16(d[6], d[7]));
    }
    ptx::fence_proxy_async();
    ptx::named_barrier_sync(barrier, 128);  // the slab is complete
    if (thread == 0) {
      ptx::tensor_store(map_c, slab, col + 64 * s, row);
      ptx::bulk_commit_group();
    }
  }
  // The next call begins with the first slab again, perhaps the one that was used last.
  if (kCount / 32 % kStagingSlabs != 0 && thread == 0) ptx::bulk_wait_group_read<0>();
}
#endif

template <class T, bool kTransposedB>
__global__ void __launch_bounds__(384, 1)
    bf16_gemm_async_store_kernel(const __grid_constant__ CUtensorMap map_a,
                                 const __grid_constant__ CUtensorMap map_b,
                                 const __grid_constant__ CUtensorMap map_c, int k,
                                 TileOrder pairs) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  static_assert(T::kRows == 128, "two warpgroups multiply, 64 rows each");
  constexpr int kColsOrdered = T::kCols / kBlocks;
  extern __shared__ __align__(1024) unsigned char ring[];
  __shared__ std::uint64_t full[T::kStages], empty[T::kStages];
  if (threadIdx.x == 0) {
    for (int s = 0; s < T::kStages; ++s) {
      ptx::mbarrier_init(&full[s], 1);
      ptx::mbarrier_init(&empty[s], 8 * kBlocks);  // warps that multiply, in all blocks
    }
    ptx::fence_mbarrier_init();
  }
  ptx::cluster_arrive();  // as __syncthreads, but for both blocks
  ptx::cluster_wait();

  RingPlace<T::kStages> place;  // goes on from tile to tile
  const int rank = static_cast<int>(ptx::cluster_rank());
  const int first_pair = static_cast<int>(blockIdx.x) / kBlocks;
  const int clusters = static_cast<int>(gridDim.x) / kBlocks;
  const int warpgroup = threadIdx.x / 128;
  if (warpgroup == 0) {
    ptx::setmaxnreg_dec<kLoadingRegisters>();
    if (threadIdx.x == 0) {
      for (int i = first_pair; i < pairs.count(); i += clusters) {
        const int2 pair = pairs.at(i);
        const int row = (pair.x * kBlocks + rank) * T::kRows, col = pair.y * T::kCols;
        for (int p = 0; p < k; p += kStep, place.next()) {
          unsigned char* const stage = ring + place.stage * T::kStageBytes;
          wait(&empty[place.stage], place.phase ^ 1);  // in both blocks
          ptx::mbarrier_arrive_expect_tx(&full[place.stage], T::kStageBytes);
          ptx::tensor_load(stage, &map_a, p, row, &full[place.stage]);
          order_b_for_all<kTransposedB, kColsOrdered>(stage + T::kBytesA, &map_b, p, col, rank,
                                                      &full[place.stage]);
        }
      }
    }
    __syncwarp();
  } else {
    ptx::setmaxnreg_inc<kMultiplyingRegisters>();
    const int first_row = (warpgroup - 1) * 64, lane = threadIdx.x % 32;
    unsigned char* const staging = ring + T::kRingBytes + (warpgroup - 1) * kStagingBytes;
    for (int i = first_pair; i < pairs.count(); i += clusters) {
      const int2 pair = pairs.at(i);
      const int row = (pair.x * kBlocks + rank) * T::kRows + first_row, col = pair.y * T::kCols;
      float sum[T::kCols / 2];
      for (int p = 0; p < k; p += kStep, place.next()) {
        const unsigned char* const stage = ring + place.stage * T::kStageBytes;
        wait(&full[place.stage], place.phase);
        ptx::wgmma_fence();
        multiply_step<kTransposedB>(sum, stage + first_row * kRowBytes, stage + T::kBytesA, p == 0);
        ptx::wgmma_commit_group();
        ptx::wgmma_wait_group<0>();
        if (lane < kBlocks) ptx::mbarrier_arrive_remote(&empty[place.stage], lane);
      }
      ptx::fence_registers(sum);
      store_slabs(sum, staging, &map_c, row, col, warpgroup);
    }
    if (threadIdx.x % 128 == 0) ptx::bulk_wait_group<0>();  // its stores have arrived
    __syncwarp();
  }
  ptx::cluster_arrive();  // a block may not end while the other still writes to its memory
  ptx::cluster_wait();
#else
  (void)map_a, (void)map_b, (void)map_c, (void)k, (void)pairs;
#endif
}

// C = A B; A is m x k, C is m x n, B is k x n or, if kTransposedB, n x k; all row-major. Device
// pointers; sizes up to 2e9.
template <bool kTransposedB>
void bf16_gemm_async_store(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m,
                           int n, int k, cudaStream_t stream) {
  using T = HopperTile<128, 256, 4>;
  if (!fits_copy_engine(a, k, b, kTransposedB ? k : n, c, n)) {
    return bf16_gemm_multistage<kTransposedB>(a, b, c, m, n, k, stream);
  }
  constexpr auto kKernel = bf16_gemm_async_store_kernel<T, kTransposedB>;
  constexpr int kShared = T::kRingBytes + 2 * kStagingBytes;
  const TileOrder pairs = order_in_bands(m, n, kBlocks * T::kRows, T::kCols);
  const int most = clusters_at_once<kKernel>(kBlocks, 384, kShared);
  launch_clusters<kKernel>(Start::after, std::min(pairs.count(), most), kBlocks, 384, kShared,
                           stream, map_of_a(a, m, k, T::kRows),
                           map_of_b<kTransposedB>(b, n, k, T::kCols / kBlocks), map_of_c(c, m, n),
                           k, pairs);
}
