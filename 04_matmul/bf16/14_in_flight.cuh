// in_flight: the products of one k tile wait in line while those before are computed.
//
// wgmma runs in the background, but so far each warpgroup waited for its own products before it
// asked for the next stage: a gap for the tensor cores, unless the other one fills it. Now it
// issues the products of the next k tile, and only then waits until all but this youngest group are
// done (wgmma_wait_group<1>). So a stage is released one k tile later: the one before is read, this
// one still in flight. What is still wrong: one tile shape for all matrices; few tiles, or a last
// wave that is nearly empty, leave SMs idle (tensor_cores_beyond.md).
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "04_matmul/kit/cluster.cuh"
#include "04_matmul/kit/gemm_tile.cuh"
#include "04_matmul/kit/scheduler.cuh"
#include "04_matmul/kit/vector_rows.cuh"
#include "common/kit/pipeline.cuh"
#include "common/kit/ptx/cluster.cuh"
#include "common/kit/ptx/roles.cuh"
#include "common/kit/ptx/tma.cuh"
#include "common/kit/ptx/wgmma.cuh"

namespace matmul::bf16 {

template <class T, bool kTransposedB>
__global__ void __launch_bounds__(T::kThreads, 1)
    bf16_gemm_in_flight_kernel(const __grid_constant__ CUtensorMap map_a,
                               const __grid_constant__ CUtensorMap map_b,
                               const __grid_constant__ CUtensorMap map_c, int k,
                               TileSchedule pairs) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  static_assert(T::kTileM == 128, "two warpgroups multiply, 64 rows each");
  extern __shared__ __align__(1024) unsigned char ring[];
  __shared__ std::uint64_t full[T::kStages], empty[T::kStages];

  // `full` completes with one arrival and its bytes, `empty` when all consumer warps have arrived.
  if (threadIdx.x == 0) {
    kit::init_stages(full, empty, 8 * kClusterSize);
    ptx::fence_mbarrier_init();
  }
  ptx::cluster_arrive();  // as __syncthreads, but for both blocks
  ptx::cluster_wait();

  kit::PipelineState<T::kStages> state;  // goes on from tile to tile
  const int rank = static_cast<int>(ptx::cluster_rank());
  const int first_pair = static_cast<int>(blockIdx.x) / kClusterSize;
  const int clusters = static_cast<int>(gridDim.x) / kClusterSize;
  const int warpgroup = threadIdx.x / 128;
  if (warpgroup == 0) {
    // The producer loads its own tile of A, and its half of B's for both blocks.
    ptx::setmaxnreg_dec<T::kProducerRegisters>();
    if (threadIdx.x == 0) {
      for (int i = first_pair; i < pairs.count(); i += clusters) {
        const int2 pair = pairs.at(i);
        const int row = (pair.x * kClusterSize + rank) * T::kTileM, col = pair.y * T::kTileN;
        for (int p = 0; p < k; p += kTileK, state.next()) {
          unsigned char* const stage = ring + state.stage * T::kStageBytes;
          kit::wait_empty(empty, state);  // in both blocks
          ptx::mbarrier_arrive_expect_tx(&full[state.stage], T::kStageBytes);
          ptx::tensor_load(stage, &map_a, p, row, &full[state.stage]);
          issue_b_multicast<kTransposedB, T::kTileN / kClusterSize>(stage + T::kBytesA, &map_b, p,
                                                                    col, rank, &full[state.stage]);
        }
      }
    }
    __syncwarp();
  } else {
    // The consumers release a stage in both blocks: lane r arrives at the barrier of block r.
    ptx::setmaxnreg_inc<T::kConsumerRegisters>();
    const int first_row = (warpgroup - 1) * 64, lane = threadIdx.x % 32;
    unsigned char* const staging = ring + T::kRingBytes + (warpgroup - 1) * kStagingBytes;
    for (int i = first_pair; i < pairs.count(); i += clusters) {
      const int2 pair = pairs.at(i);
      const int row = (pair.x * kClusterSize + rank) * T::kTileM + first_row,
                col = pair.y * T::kTileN;
      // region k_loop
      float acc[T::kTileN / 2];
      int before = 0;  // the stage of the k tile before
      for (int p = 0; p < k; p += kTileK, state.next()) {
        const unsigned char* const stage = ring + state.stage * T::kStageBytes;
        kit::wait_full(full, state);
        ptx::wgmma_fence();
        issue_k_tile<kTransposedB>(acc, stage + first_row * kRowBytes, stage + T::kBytesA, p == 0);
        ptx::wgmma_commit_group();
        ptx::wgmma_wait_group<1>();  // all but the youngest group are done
        if (p > 0 && lane < kClusterSize) ptx::mbarrier_arrive_remote(&empty[before], lane);
        before = state.stage;
      }
      ptx::wgmma_wait_group<0>();
      if (lane < kClusterSize) ptx::mbarrier_arrive_remote(&empty[before], lane);
      // endregion

      // All products are done: C goes to shared memory, and TMA stores it.
      ptx::fence_registers(acc);
      store_by_tma(acc, staging, &map_c, row, col, warpgroup);
    }
    if (threadIdx.x % 128 == 0) ptx::bulk_wait_group<0>();  // its stores have arrived
    __syncwarp();
  }

  // A block may not end while the other still writes to its memory.
  ptx::cluster_arrive();
  ptx::cluster_wait();
#else
  (void)map_a, (void)map_b, (void)map_c, (void)k, (void)pairs;
#endif
}

// C = A B; A is m x k, C is m x n, B is k x n or, if kTransposedB, n x k; all row-major. Device
// pointers; sizes up to 2e9. Throws Skip if TMA cannot take the matrices.
template <bool kTransposedB>
void bf16_gemm_in_flight(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m,
                         int n, int k, cudaStream_t stream) {
  using T = GemmTile<128, 256, 4>;
  require_vector_rows<kTransposedB>(a, b, c, n, k);
  constexpr auto kKernel = bf16_gemm_in_flight_kernel<T, kTransposedB>;
  constexpr int kShared = T::kRingBytes + 2 * kStagingBytes;
  const TileSchedule pairs = grouped_schedule(m, n, kClusterSize * T::kTileM, T::kTileN);
  const int most = clusters_at_once<kKernel>(kClusterSize, T::kThreads, kShared);
  launch_clusters<kKernel>(Start::in_order, std::min(pairs.count(), most), kClusterSize,
                           T::kThreads, kShared, stream, map_of_rows(a, m, k, T::kTileM),
                           map_of_b<kTransposedB>(b, n, k, T::kTileN / kClusterSize),
                           map_of_rows(c, m, n, 64), k, pairs);
}

}  // namespace matmul::bf16
