// Rung 13, early_start: the next launch gets ready while this one ends.
//
// Normally a kernel starts when all blocks of the one before have ended and their writes have
// arrived. A launch may ask for more (programmatic dependent launch): its blocks start as soon as
// the kernel before allows it and an SM has room. They set up barriers, and wait only then, since
// they may need what the kernel before writes: the order of the stream is kept. What is still
// wrong: tiles of 128 x 256 are too large for small matrices, and for some sizes the last round of
// tiles leaves most SMs idle.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "04_matmul/bf16/06_multistage.cuh"
#include "04_matmul/bf16/12_async_store.cuh"
#include "04_matmul/bf16/clusters.cuh"
#include "04_matmul/bf16/hopper.cuh"
#include "04_matmul/sgemm/tiles.cuh"

template <class T, bool kTransposedB>
__global__ void __launch_bounds__(384, 1)
    bf16_gemm_early_start_kernel(const __grid_constant__ CUtensorMap map_a,
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
  ptx::griddepcontrol_launch_dependents();
  ptx::griddepcontrol_wait();  // from here on this kernel reads and writes matrices

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
void bf16_gemm_early_start(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m,
                           int n, int k, cudaStream_t stream) {
  using T = HopperTile<128, 256, 4>;
  if (!fits_copy_engine(a, k, b, kTransposedB ? k : n, c, n)) {
    return bf16_gemm_multistage<kTransposedB>(a, b, c, m, n, k, stream);
  }
  constexpr auto kKernel = bf16_gemm_early_start_kernel<T, kTransposedB>;
  constexpr int kShared = T::kRingBytes + 2 * kStagingBytes;
  const TileOrder pairs = order_in_bands(m, n, kBlocks * T::kRows, T::kCols);
  const int most = clusters_at_once<kKernel>(kBlocks, 384, kShared);
  launch_clusters<kKernel>(Start::early, std::min(pairs.count(), most), kBlocks, 384, kShared,
                           stream, map_of_a(a, m, k, T::kRows),
                           map_of_b<kTransposedB>(b, n, k, T::kCols / kBlocks), map_of_c(c, m, n),
                           k, pairs);
}
