// to_owner: each tile goes straight from the accumulators to the owner of its rows.
//
// TMA stores a tile in the memory of another device as in the own: the owner's slot is the tensor.
// The others' rows come first and travel under the products that follow; the own rows come last. By
// then the others' addends are here, a flag for each half tile says so, and they are added to
// the accumulators before these are rounded. So the own addends are never written, and no kernel
// has to add afterwards. What is still wrong: tiles of 128 x 256 are too large for few rows.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "04_matmul/kit/cluster.cuh"
#include "04_matmul/kit/gemm_tile.cuh"
#include "04_matmul/kit/scheduler.cuh"
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

// What one rank knows of the others. Of each owner's rows: the map of the slot there, or of the own
// C. Of each sender: its slot here.
struct ScatterMaps {
  CUtensorMap a, b, c[kMostDevices];
  const __nv_bfloat16* slots[kMostDevices];
  unsigned* flags[kMostDevices];  // of each owner: one for each sender and half tile
  int first_row[kMostDevices];    // of each owner's rows of A
  int rows, n;                    // of the own slots
};

// Of a half tile, 64 rows by 256 columns, the flag that `sender` sets.
__device__ inline int flag_of(const ShardSchedule& pairs, ShardPair pair, int sender, int block,
                              int warpgroup) {
  const TileSchedule& of = pairs.of[pair.shard];
  const int tile = pair.at.x * of.across + pair.at.y;
  return ((sender * of.count() + tile) * kClusterSize + block) * 2 + warpgroup - 1;
}

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// Adds the half tile at (row, col) of a slot, rows x n elements, to the accumulators of a
// warpgroup, 64 rows by 2 kCount columns. n is even. Half of it is asked for before any is used, or
// each pair of elements would be a wait for memory.
template <int kCount>
__device__ inline void add_slot(float (&acc)[kCount], const __nv_bfloat16* slot, int row, int col,
                                int rows, int n) {
  constexpr int kAhead = kCount / 4;  // pairs
  const int warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32;
  const int y = row + 16 * warp + lane / 4, x = col + lane % 4 * 2;
#pragma unroll
  for (int first = 0; first < kCount / 2; first += kAhead) {
    __nv_bfloat162 two[kAhead];
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      const int down = y + (first + i) % 2 * 8, across = x + (first + i) / 2 * 8;
      two[i] = __float2bfloat162_rn(0.0f);
      if (down < rows && across < n) {
        two[i] = *reinterpret_cast<const __nv_bfloat162*>(
            slot + static_cast<std::int64_t>(down) * n + across);
      }
    }
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      acc[2 * (first + i)] += __low2float(two[i]);
      acc[2 * (first + i) + 1] += __high2float(two[i]);
    }
  }
}
#endif

template <class T>
__global__ void __launch_bounds__(T::kThreads, 1)
    gemm_scatter_to_owner_kernel(const __grid_constant__ ScatterMaps maps, int own, int k,
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
        const int row = maps.first_row[pair.shard] + (pair.at.x * kClusterSize + rank) * T::kTileM;
        const int col = pair.at.y * T::kTileN;
        for (int p = 0; p < k; p += kTileK, state.next()) {
          unsigned char* const stage = ring + state.stage * T::kStageBytes;
          kit::wait_empty(empty, state);  // in both blocks
          ptx::mbarrier_arrive_expect_tx(&full[state.stage], T::kStageBytes);
          ptx::tensor_load(stage, &maps.a, p, row, &full[state.stage]);
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
    const bool stores = threadIdx.x % 128 == 0;
    unsigned char* const staging = ring + T::kRingBytes + (warpgroup - 1) * kStagingBytes;
    unsigned* untold = nullptr;  // the flag of the half tile that is on its way
    const auto tell = [&] {
      if (stores && untold != nullptr) {
        ptx::bulk_wait_group<0>();  // it has arrived
        set_flag(untold);
      }
      untold = nullptr;
    };
    for (int i = first_pair; i < count; i += clusters) {
      const ShardPair pair = pairs.at(i);
      const int row = (pair.at.x * kClusterSize + rank) * T::kTileM + first_row;
      const int col = pair.at.y * T::kTileN;
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
      ptx::fence_registers(acc);

      // region epilogue
      // The half tile before has had a whole product's time to arrive: now its owner is told. Only
      // then may this block itself begin to wait.
      tell();
      if (pair.shard == own) {
        for (int sender = 0; sender < pairs.shards; ++sender) {
          if (sender == own) continue;
          if (stores) {
            wait_for_flag(maps.flags[own] + flag_of(pairs, pair, sender, rank, warpgroup));
          }
          ptx::named_barrier_sync(warpgroup, 128);
          add_slot(acc, maps.slots[sender], row, col, maps.rows, maps.n);
        }
      } else {
        untold = maps.flags[pair.shard] + flag_of(pairs, pair, own, rank, warpgroup);
      }
      store_by_tma(acc, staging, &maps.c[pair.shard], row, col, warpgroup);
      // endregion
    }
    tell();
    if (stores) ptx::bulk_wait_group<0>();  // its stores have arrived
    __syncwarp();
  }

  // A block may not end while the other still writes to its memory.
  ptx::cluster_arrive();
  ptx::cluster_wait();
#else
  (void)maps, (void)own, (void)k, (void)pairs;
#endif
}

// The product of one rank, in its stream, which waits for those of the others while it runs.
inline void launch_gemm_scatter_to_owner(const Team& team, const ProductScatter& p, int rank) {
  using T = PairTile;
  constexpr auto kKernel = gemm_scatter_to_owner_kernel<T>;
  const int m = static_cast<int>(p.m), n = static_cast<int>(p.n);
  const int k = static_cast<int>(p.ks.size(rank));
  ScatterMaps maps = {};
  maps.a = map_of_rows(p.a[rank], m, k, T::kTileM);
  maps.b = map_of_b<true>(p.b[rank], n, k, T::kTileN / kClusterSize);
  maps.rows = static_cast<int>(p.rows.size(rank));
  maps.n = n;
  for (int other = 0; other < team.size(); ++other) {
    const int rows = static_cast<int>(p.rows.size(other));
    maps.slots[other] = p.slot(rank, other);
    maps.flags[other] = p.flags[other];
    maps.first_row[other] = static_cast<int>(p.rows.first(other));
    if (rows == 0) continue;
    maps.c[other] = map_of_rows(other == rank ? p.c[rank] : p.slot(other, rank), rows, n, 64);
  }
  kit::allow_shared(kKernel, kPairShared);  // on this device
  const int most = clusters_at_once<kKernel>(kClusterSize, T::kThreads, kPairShared);
  const ShardSchedule pairs = shard_schedule(p.rows, n, (rank + 1) % team.size());
  launch_clusters<kKernel>(Start::in_order, std::min(pairs.count(), most), kClusterSize,
                           T::kThreads, kPairShared, team.devices.streams[rank], maps, rank, k,
                           pairs);
}

// C of every rank = its rows of the sum of all products. In the streams of the team. Throws Skip if
// TMA cannot take the matrices, or a rank has no part of k.
inline void gemm_scatter_to_owner(const Team& team, const ProductScatter& p) {
  if (p.m == 0 || p.n == 0) return;
  for (int rank = 0; rank < team.size(); ++rank) {
    require_vector_rows<true>(p.a[rank], p.b[rank], p.c[rank], p.n, p.ks.size(rank));
    if (p.ks.size(rank) == 0) throw kit::Skip("needs 8 values of k for each device");
  }
  kit::for_each_rank(team.devices, [&](int rank, cudaStream_t stream) {
    const std::size_t bytes =
        team.size() * scatter_flags(p.rows.size(rank), p.n) * sizeof(unsigned);
    CUDA_CHECK(cudaMemsetAsync(p.flags[rank], 0, bytes, stream));
  });
  team.start_products();
  kit::for_each_rank(team.devices,
                     [&](int rank, cudaStream_t) { launch_gemm_scatter_to_owner(team, p, rank); });
}

}  // namespace matmul::sharded
