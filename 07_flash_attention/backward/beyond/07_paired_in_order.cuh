// paired_in_order: paired, and every cluster waits for its turn to add to dQ.
//
// dQ of paired has other last bits in each run, since clusters add in the order in which they come.
// Here each adds in turn, as the blocks of in_order do: tiles of keys from the first to the last,
// steps from the last queries to the first. One thread for each warpgroup watches the count while
// the warpgroup multiplies. What is still wrong: at the beginning each cluster of a head waits for
// those before it.
#pragma once

#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/backward/kit/dq_accum.cuh"
#include "07_flash_attention/backward/kit/gradient_tile.cuh"
#include "07_flash_attention/backward/kit/paired_blocks.cuh"
#include "07_flash_attention/backward/kit/paired_products.cuh"
#include "07_flash_attention/backward/kit/pairs.cuh"
#include "07_flash_attention/backward/kit/row_stats.cuh"
#include "07_flash_attention/backward/kit/tma_tiles.cuh"
#include "07_flash_attention/backward/kit/turns.cuh"
#include "07_flash_attention/backward/shape.hpp"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/pipeline.cuh"
#include "common/kit/ptx/cluster.cuh"
#include "common/kit/ptx/roles.cuh"
#include "common/kit/ptx/tma.cuh"

namespace backward {

template <class Tile>
struct PairedInOrderShared : PairedShared<Tile> {
  std::uint64_t turn_come[2], turn_used[2];  // of each warpgroup
  int ticket;

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  // By one thread.
  __device__ __forceinline__ void init() {
    kit::init_stages(turn_come, turn_used, 128);
    PairedShared<Tile>::init();
  }
#endif
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
using InOrder = TileRangeFromLast<ClusterTile>;

// A warpgroup's turn. The thread that watches the count of all clusters tells the warpgroup.
struct DqTurn {
  std::uint64_t *come, *used;  // barriers: the warpgroup may add; it has added
  std::uint32_t phase = 0;

  __device__ __forceinline__ void wait() { kit::wait(come, phase); }
  __device__ __forceinline__ void pass() {
    ptx::mbarrier_arrive(used);
    phase ^= 1;
  }
};
#endif

// ticket: 0. turns: zeros, four for each tile of queries of each head: a cluster has four slabs of
// dQ, and each is added to by itself.
template <class Tile>
__global__ void __launch_bounds__(kPairedThreads, 1)
    paired_in_order_kernel(const __grid_constant__ GradientMaps maps,
                           Arguments<typename Tile::Element> args, int* ticket, int* turns) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  const auto& shape = args.shape;
  extern __shared__ __align__(1024) unsigned char aligned_shared_memory[];
  auto& shared = *reinterpret_cast<PairedInOrderShared<Tile>*>(aligned_shared_memory);
  const int rank = static_cast<int>(ptx::cluster_rank());
  // Barriers must stand before anybody arrives at one, the other block and TMA included. And the
  // first block's ticket must be there before the other reads it.
  if (threadIdx.x == 0) {
    if (rank == 0) shared.ticket = atomicAdd(ticket, 1);
    shared.init();
  }
  ptx::cluster_arrive();
  ptx::cluster_wait();

  // Clusters wait for those with smaller tickets alone, and these are running.
  const int* tickets = cooperative_groups::this_cluster().map_shared_rank(&shared.ticket, 0);
  const int cluster = __shfl_sync(0xffffffff, *tickets, 0);
  // Eight heads make a band: the device holds half as many clusters as blocks.
  const InOrder steps(TileRange<ClusterTile>::of(shape, cluster, 8));
  const int warpgroup = __shfl_sync(0xffffffff, threadIdx.x / 128, 0);

  // The third warpgroup: one thread has the tiles brought, two watch the turns.
  if (warpgroup == 2) {
    ptx::setmaxnreg_dec<24>();
    const int role = threadIdx.x / 32 - 8;  // 0: feeds; 1, 2: watch for the two warpgroups
    if (threadIdx.x % 32 == 0 && role == 0) {
      feed_pair(shared, maps, args.rows, steps, rank);
    } else if (threadIdx.x % 32 == 0 && role <= 2) {
      // region watch
      for (int step = 0; step < steps.count(); ++step) {
        const auto part =
            DqAccum<Tile>::number(args.rows, steps.head(step), steps.first_row(step), rank);
        const DqSemaphore turn{turns + 2 * part + role - 1, steps.key_tile};
        turn.wait();
        ptx::mbarrier_arrive(&shared.turn_come[role - 1]);
        kit::wait(&shared.turn_used[role - 1], step % 2);
        turn.pass();
      }
      // endregion
    }
    __syncwarp();
    // A block may not end while the other still writes to its memory or arrives at its barriers.
    ptx::cluster_arrive();
    ptx::cluster_wait();
    return;
  }

  // Two warpgroups multiply. dV stays in the registers of the one, dK in those of the other.
  ptx::setmaxnreg_inc<240>();
  const int key = steps.first_key + Tile::kTileN * rank + Warpgroup<Tile>::row();
  const DqTurn turn{&shared.turn_come[warpgroup], &shared.turn_used[warpgroup]};
  PairedDq<Tile, InOrder, DqTurn> dq(shared, args.rows, steps, rank, warpgroup, turn);
  if (warpgroup == 0) {
    weights_and_dv(shared, args, steps, key, dq);
  } else {
    score_gradients_and_dk(shared, args, steps, rank, key, dq);
  }
  ptx::cluster_arrive();
  ptx::cluster_wait();
#endif
}

// Floats of scratch memory: row_stats_and_dq_scratch(shape), and behind them the ticket and turns.
inline std::int64_t paired_in_order_scratch(const Shape& shape) {
  return row_stats_and_dq_scratch(shape) + 1 + 4 * shape.all_heads() * padded_rows(shape) / 64;
}

// Device pointers, aligned to 16 bytes. scratch: paired_in_order_scratch(shape) floats.
template <class T, int kD>
void paired_in_order(const Shape& shape, const Tensors<T>& t, float* scratch, cudaStream_t stream) {
  if constexpr (kD != 256) {
    throw kit::Skip("for d = 256: at 64 and 128 a single block holds 128 keys");
  } else {
    using Tile = PairedTile<T>;
    constexpr int kShared = sizeof(PairedInOrderShared<Tile>);
    const auto kernel = paired_in_order_kernel<Tile>;
    kit::allow_shared(kernel, kShared);
    const Arguments<T> args = prepare(shape, t, scratch, true, stream);
    int* ticket = reinterpret_cast<int*>(scratch + row_stats_and_dq_scratch(shape));
    const auto counters = paired_in_order_scratch(shape) - row_stats_and_dq_scratch(shape);
    CUDA_CHECK(cudaMemsetAsync(ticket, 0, counters * sizeof(int), stream));
    launch_pairs(kernel, kShared, shape, stream, half_tile_maps<Tile>(args), args, ticket,
                 ticket + 1);
    finish_dq_parts<GradientTile<T, kD>>(args, stream);
  }
}

}  // namespace backward
