// flags: one kernel for all rows, whose blocks wait for the chunk that they need.
//
// It is the kernel of the rung in_flight (tensor_cores.md) with two changes. Tiles are taken rank
// by rank, the own rows first. And before the producer loads a tile of another rank's rows, it
// polls the flag of its chunk, which the copy stream sets by a kernel of one thread. Nothing
// promises that kernel a place beside blocks that wait: so they leave two SMs free. What is still
// wrong: tiles of 128 x 256 are too large for few rows; and a grid that waits needs all its blocks
// on the chip at once.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "04_matmul/kit/cluster.cuh"
#include "04_matmul/kit/gemm_tile.cuh"
#include "04_matmul/kit/vector_rows.cuh"
#include "04_matmul/sharded/kit/flag.cuh"
#include "04_matmul/sharded/kit/shard_tiles.cuh"
#include "04_matmul/sharded/kit/shards.hpp"
#include "04_matmul/sharded/kit/team.cuh"
#include "common/kit/check.cuh"
#include "common/kit/devices.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/pipeline.cuh"
#include "common/kit/ptx/cluster.cuh"
#include "common/kit/ptx/roles.cuh"
#include "common/kit/ptx/tma.cuh"
#include "common/kit/ptx/wgmma.cuh"

namespace matmul::sharded {

static __global__ void chunk_has_come_kernel(unsigned* flag) { set_flag(flag); }

// What TMA knows of one rank's matrices: rows of A and of C, one map for those of each rank.
struct GatherMaps {
  CUtensorMap a[kMostDevices], c[kMostDevices], b;
};
// The flag of each chunk of each rank's rows, and how many pairs of tiles a chunk has.
struct ChunkFlags {
  unsigned* flags;
  int pairs[kMostDevices];
};

template <class T>
__global__ void __launch_bounds__(T::kThreads, 1)
    gather_gemm_flags_kernel(const __grid_constant__ GatherMaps maps,
                             const __grid_constant__ ChunkFlags chunks, int own, int k,
                             const __grid_constant__ ShardSchedule pairs) {
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
  const int count = pairs.count(), warpgroup = threadIdx.x / 128;
  if (warpgroup == 0) {
    // The producer loads its own tile of A, and its half of B's for both blocks.
    ptx::setmaxnreg_dec<T::kProducerRegisters>();
    if (threadIdx.x == 0) {
      for (int i = first_pair; i < count; i += clusters) {
        const ShardPair pair = pairs.at(i);
        // region wait
        if (pair.shard != own) {
          const int chunk = pair.at.x / chunks.pairs[pair.shard];
          wait_for_flag(&chunks.flags[pair.shard * kMostChunks + chunk]);
          ptx::fence_proxy_async_global();  // TMA shall see what the flag has made visible
        }
        // endregion
        const int row = (pair.at.x * kClusterSize + rank) * T::kTileM;
        const int col = pair.at.y * T::kTileN;
        for (int p = 0; p < k; p += kTileK, state.next()) {
          unsigned char* const stage = ring + state.stage * T::kStageBytes;
          kit::wait_empty(empty, state);  // in both blocks
          ptx::mbarrier_arrive_expect_tx(&full[state.stage], T::kStageBytes);
          ptx::tensor_load(stage, &maps.a[pair.shard], p, row, &full[state.stage]);
          issue_b_multicast<true, T::kTileN / kClusterSize>(stage + T::kBytesA, &maps.b, p, col,
                                                            rank, &full[state.stage]);
        }
      }
    }
    __syncwarp();
  } else {
    // The consumers release a stage in both blocks: lane r arrives at the barrier of block r.
    ptx::setmaxnreg_inc<T::kConsumerRegisters>();
    const int first_row = (warpgroup - 1) * 64, lane = threadIdx.x % 32;
    unsigned char* const staging = ring + T::kRingBytes + (warpgroup - 1) * kStagingBytes;
    for (int i = first_pair; i < count; i += clusters) {
      const ShardPair pair = pairs.at(i);
      const int row = (pair.at.x * kClusterSize + rank) * T::kTileM + first_row;
      float acc[T::kTileN / 2];
      int before = 0;  // the stage of the k tile before
      for (int p = 0; p < k; p += kTileK, state.next()) {
        const unsigned char* const stage = ring + state.stage * T::kStageBytes;
        kit::wait_full(full, state);
        ptx::wgmma_fence();
        issue_k_tile<true>(acc, stage + first_row * kRowBytes, stage + T::kBytesA, p == 0);
        ptx::wgmma_commit_group();
        ptx::wgmma_wait_group<1>();  // all but the youngest group are done
        if (p > 0 && lane < kClusterSize) ptx::mbarrier_arrive_remote(&empty[before], lane);
        before = state.stage;
      }
      ptx::wgmma_wait_group<0>();
      if (lane < kClusterSize) ptx::mbarrier_arrive_remote(&empty[before], lane);

      // All products are done: C goes to shared memory, and TMA stores it.
      ptx::fence_registers(acc);
      store_by_tma(acc, staging, &maps.c[pair.shard], row, pair.at.y * T::kTileN, warpgroup);
    }
    if (threadIdx.x % 128 == 0) ptx::bulk_wait_group<0>();  // its stores have arrived
    __syncwarp();
  }

  // A block may not end while the other still writes to its memory.
  ptx::cluster_arrive();
  ptx::cluster_wait();
#else
  (void)maps, (void)chunks, (void)own, (void)k, (void)pairs;
#endif
}

// The product of one rank, in its stream, which waits for chunks while it runs.
inline void launch_gather_gemm_flags(const Team& team, const GatherProduct& p, int rank) {
  using T = PairTile;
  constexpr auto kKernel = gather_gemm_flags_kernel<T>;
  const std::int64_t n = p.columns.size(rank);
  if (n == 0 || p.m == 0) return;
  GatherMaps maps = {};
  ChunkFlags chunks = {p.flags[rank], {}};
  maps.b = map_of_b<true>(p.b[rank], static_cast<int>(n), static_cast<int>(p.k),
                          T::kTileN / kClusterSize);
  for (int shard = 0; shard < team.size(); ++shard) {
    const std::int64_t first = p.rows.first(shard);
    const int rows = static_cast<int>(p.rows.size(shard));
    chunks.pairs[shard] = static_cast<int>(Chunks{rows, team.size()}.most() / kPairRows);
    if (rows == 0) continue;
    const Element* const a = shard == rank ? p.a[rank] : p.whole_a[rank] + first * p.k;
    maps.a[shard] = map_of_rows(a, rows, static_cast<int>(p.k), T::kTileM);
    maps.c[shard] = map_of_rows(p.c[rank] + first * n, rows, static_cast<int>(n), 64);
  }

  // Two SMs stay free for the kernels that set flags, here for other devices.
  kit::allow_shared(kKernel, kPairShared);  // on this device
  const int most = clusters_at_once<kKernel>(kClusterSize, T::kThreads, kPairShared) - 1;
  kit::require_clusters(most, kClusterSize);
  const ShardSchedule pairs = shard_schedule(p.rows, n, rank);
  launch_clusters<kKernel>(Start::in_order, std::min(pairs.count(), most), kClusterSize,
                           T::kThreads, kPairShared, team.devices.streams[rank], maps, chunks, rank,
                           static_cast<int>(p.k), pairs);
}

// C of every rank = all of A times its B'. In the streams of the team. Throws Skip if TMA cannot
// take the matrices.
inline void gather_gemm_flags(const Team& team, const GatherProduct& p) {
  for (int rank = 0; rank < team.size(); ++rank) {
    require_vector_rows<true>(p.a[rank], p.b[rank], p.c[rank], p.columns.size(rank), p.k);
  }
  kit::for_each_rank(team.devices, [&](int rank, cudaStream_t stream) {
    const std::size_t bytes = kMostDevices * kMostChunks * sizeof(unsigned);
    CUDA_CHECK(cudaMemsetAsync(p.flags[rank], 0, bytes, stream));
  });
  team.start_copies();

  // A flag behind each chunk. All copies are asked for before a kernel begins to wait for them.
  for (int rank = 0; rank < team.size(); ++rank) {
    const Chunks chunks = {p.rows.size(rank), team.size()};
    cudaStream_t stream = team.copies.streams[rank];
    CUDA_CHECK(cudaSetDevice(rank));
    for (int step = 1; step < team.size(); ++step) {
      const int to = (rank + team.size() - step) % team.size();
      for (int chunk = 0; chunk < chunks.count(); ++chunk) {
        const std::int64_t first = chunks.first(chunk);
        push(p.whole_a[to] + (p.rows.first(rank) + first) * p.k, p.a[rank] + first * p.k,
             chunks.size(chunk) * p.k, stream);
        chunk_has_come_kernel<<<1, 1, 0, stream>>>(&p.flags[to][rank * kMostChunks + chunk]);
        CUDA_CHECK(cudaGetLastError());
      }
    }
  }
  kit::for_each_rank(team.devices,
                     [&](int rank, cudaStream_t) { launch_gather_gemm_flags(team, p, rank); });
  // The own rows may change only when the others have them.
  for (int rank = 0; rank < team.size(); ++rank) team.wait_for_copies(rank, rank);
}

}  // namespace matmul::sharded
