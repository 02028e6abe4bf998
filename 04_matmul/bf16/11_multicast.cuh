// Rung 11, multicast: two blocks work side by side and load what both need once.
//
// A cluster here is a pair of blocks, on neighbouring SMs, whose tiles lie one below the other:
// other rows of A, the same columns of B. Each orders half of B's tile, and the copy engine writes
// it to the shared memory of both: the L2 cache delivers 32 KB a step and SM instead of 48. A stage
// may be filled again when it is empty in both, so every warp reports to both. That saves power,
// which is what limits this chip here. What is still wrong: C leaves the registers in pieces of 4
// bytes, while nobody multiplies, and now each block also waits for the other.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "04_matmul/bf16/06_multistage.cuh"
#include "04_matmul/bf16/10_persistent.cuh"
#include "04_matmul/bf16/clusters.cuh"
#include "04_matmul/bf16/hopper.cuh"
#include "04_matmul/sgemm/tiles.cuh"

constexpr int kBlocks = 2;  // of a cluster

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// As order_b, but only part `rank` of the tile, kCols columns, and for all blocks of the cluster.
template <bool kTransposedB, int kCols>
__device__ inline void order_b_for_all(unsigned char* to, const CUtensorMap* map_b, int p, int col,
                                       int rank, std::uint64_t* barrier) {
  constexpr std::uint16_t kAll = (1 << kBlocks) - 1;
  const int first = rank * kCols;
  unsigned char* const part = to + first * kRowBytes;
  if constexpr (kTransposedB) {
    ptx::tensor_load_multicast(part, map_b, p, col + first, barrier, kAll);
  } else {
#pragma unroll
    for (int s = 0; s < kCols / 64; ++s) {
      ptx::tensor_load_multicast(part + s * kSlabBytes, map_b, col + first + 64 * s, p, barrier,
                                 kAll);
    }
  }
}
#endif

template <class T, bool kTransposedB>
__global__ void __launch_bounds__(384, 1)
    bf16_gemm_multicast_kernel(const __grid_constant__ CUtensorMap map_a,
                               const __grid_constant__ CUtensorMap map_b, __nv_bfloat16* c, int m,
                               int n, int k, TileOrder pairs) {
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
      store_pairs(sum, c, row, col, m, n);
    }
  }
  ptx::cluster_arrive();  // a block may not end while the other still writes to its memory
  ptx::cluster_wait();
#else
  (void)map_a, (void)map_b, (void)c, (void)m, (void)n, (void)k, (void)pairs;
#endif
}

// C = A B; A is m x k, C is m x n, B is k x n or, if kTransposedB, n x k; all row-major. Device
// pointers; sizes up to 2e9.
template <bool kTransposedB>
void bf16_gemm_multicast(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m,
                         int n, int k, cudaStream_t stream) {
  using T = HopperTile<128, 256, 4>;
  if (!fits_copy_engine(a, k, b, kTransposedB ? k : n, c, n)) {
    return bf16_gemm_multistage<kTransposedB>(a, b, c, m, n, k, stream);
  }
  constexpr auto kKernel = bf16_gemm_multicast_kernel<T, kTransposedB>;
  constexpr int kShared = T::kRingBytes;
  const TileOrder pairs = order_in_bands(m, n, kBlocks * T::kRows, T::kCols);
  const int most = clusters_at_once<kKernel>(kBlocks, 384, kShared);
  launch_clusters<kKernel>(Start::after, std::min(pairs.count(), most), kBlocks, 384, kShared,
                           stream, map_of_a(a, m, k, T::kRows),
                           map_of_b<kTransposedB>(b, n, k, T::kCols / kBlocks), c, m, n, k, pairs);
}
