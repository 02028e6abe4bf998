// Rung 4 beyond, paired: at d = 256 two blocks share 128 keys, and nothing is computed twice.
//
// The rungs before have 64 keys a block there: both warpgroups compute all scores (seven products
// for five), and for each operation twice as much is added to dQ as at d = 128. Here one warpgroup
// has S, the weights and dV, the other dP, dS and dK. Two blocks of 64 keys are a cluster. Each
// sends its dS to the other, and multiplies half of dQ's columns for all 128 keys: half of the
// additions. Of Q and dO each has TMA bring one half, to both. What is still wrong: there is room
// for one stage of dO only.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "07_flash_attention/backward/kit/dq_parts.cuh"
#include "07_flash_attention/backward/kit/hopper_tile.cuh"
#include "07_flash_attention/backward/kit/paired_blocks.cuh"
#include "07_flash_attention/backward/kit/pairs.cuh"
#include "07_flash_attention/backward/kit/row_facts.cuh"
#include "07_flash_attention/backward/kit/tma_tiles.cuh"
#include "07_flash_attention/backward/shape.hpp"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/pipeline.cuh"
#include "common/kit/ptx/cluster.cuh"
#include "common/kit/ptx/mbarrier.cuh"
#include "common/kit/ptx/mma.cuh"
#include "common/kit/ptx/roles.cuh"
#include "common/kit/ptx/tma.cuh"
#include "common/kit/ptx/wgmma.cuh"
#include "common/kit/toolkit.cuh"

namespace backward {

constexpr int kPairedThreads = 384;

template <class Tile>
__global__ void __launch_bounds__(kPairedThreads, 1)
    paired_kernel(const __grid_constant__ TensorMaps maps, Arguments<typename Tile::Element> args) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  const auto& shape = args.shape;
  using T = typename Tile::Element;
  constexpr int kD = Tile::kD, kQueries = Tile::kQueries;
  extern __shared__ unsigned char dynamic_shared[];
  auto& shared = kit::aligned_shared<PairedShared<Tile>>(dynamic_shared);
  // Barriers must stand before anybody arrives at one, the other block and TMA included.
  if (threadIdx.x == 0) shared.init();
  ptx::cluster_arrive();
  ptx::cluster_wait();

  const int rank = static_cast<int>(ptx::cluster_rank());
  const auto steps = Steps<ClusterTile>::of(shape, blockIdx.x / 2, shape.causal);
  const int count = steps.count();
  const int warpgroup = __shfl_sync(0xffffffff, threadIdx.x / 128, 0);

  // The third warpgroup: one thread has the tiles brought.
  if (warpgroup == 2) {
    ptx::setmaxnreg_dec<24>();
    if (threadIdx.x == 256) feed_pair(shared, maps, args.rows, steps, rank);
    __syncwarp();
    // A block may not end while the other still writes to its memory or arrives at its barriers.
    ptx::cluster_arrive();
    ptx::cluster_wait();
    return;
  }

  // Two warpgroups multiply. dV stays in the registers of the one, dK in those of the other.
  ptx::setmaxnreg_inc<240>();
  const Warpgroup<Tile> own{};
  const int own_thread = threadIdx.x % 128;
  const int key = steps.first_key + Tile::kKeys * rank + own.row();
  const std::int64_t keys_at = steps.kv_head * shape.n_k * kD;
  kit::PipelineState<2> at, at_ds;
  kit::PipelineState<1> at_do;

  // dQ of the step before: of its four slabs of 64 columns a block has two, a warpgroup one.
  const unsigned char* const dq_k = shared.k + (2 * rank + warpgroup) * Tile::kKeySlab;
  const unsigned char* const dq_k_other = shared.k_other + warpgroup * Tile::kKeySlab;
  const auto begin_dq = [&](float(&dq)[32]) {
    const auto before = at_ds.before();
    kit::wait_full(shared.ds_full, before);
    issue_cluster_dq<Tile>(dq, shared.ds[before.stage], dq_k, dq_k_other);
  };
  // Where it goes is counted on: a division in each step would cost registers too.
  float4* dq_to =
      reinterpret_cast<float4*>(DqParts<Tile>::of(args.rows, steps.kv_head * steps.group,
                                                  steps.first_tile * kQueries, rank) +
                                warpgroup * 64 * 64) +
      own_thread;
  int dq_tile = 0;
  const auto add_dq = [&](const float(&dq)[32]) {
#pragma unroll
    for (int i = 0; i < 32; i += 4) {
      kit::add_four(dq_to + i / 4 * 128, make_float4(dq[i], dq[i + 1], dq[i + 2], dq[i + 3]));
    }
    int on = 1;  // tiles
    if (++dq_tile == steps.tiles) {
      on += args.rows.pitch / kQueries - steps.tiles;
      dq_tile = 0;
    }
    dq_to += on * (kQueries * kD / 4);
  };
  // Behind a step's last product: dQ is there once one group of wgmma is left.
  const auto end_dq = [&](float(&dq)[32]) {
    ptx::wgmma_wait_group<1>();
    ptx::fence_registers(dq);
    release_in_both(&shared.ds_empty[at_ds.before().stage]);
    add_dq(dq);
  };
  const auto last_dq = [&] {
    if (count == 0) return;
    float dq[32];
    begin_dq(dq);
    ptx::wgmma_wait_group<0>();
    ptx::fence_registers(dq);
    add_dq(dq);
  };

  if (warpgroup == 0) {
    // S, the weights and dV. Keys are rows, queries columns.
    float dv[kD / 2] = {};
    int row_tile = 0;
    if (count > 0) shared.keys_full.wait();
    const auto do_step = [&](int step, auto is_first) {
      constexpr bool kFirst = decltype(is_first)::value;
      float s[kQueries / 2], dq[32];
      const int row = (steps.first_tile + row_tile) * kQueries;
      kit::wait_full(shared.q_full, at);
      own.issue_transposed(s, shared.k, shared.q_tile[at.stage]);
      if constexpr (kFirst) shared.values_full.wait();  // and the other block's keys, for dQ
      ptx::wgmma_wait_group<0>();
      ptx::fence_registers(s);
      weigh(s, shared.lse2[at.stage], shape, steps, row, key);
      if (++row_tile == steps.tiles) row_tile = 0;
      ptx::fence_proxy_async();  // TMA fills what ordinary loads have read
      __syncwarp();
      release_in_both(&shared.q_empty[at.stage]);

      // The other warpgroup wants the weights as they are; the next product wants them rounded.
      kit::wait(&shared.p_empty, (step + 1) % 2);
#pragma unroll
      for (int i = 0; i < kQueries / 2; i += 4) {
        shared.p[i / 4 * 128 + own_thread] = make_float4(s[i], s[i + 1], s[i + 2], s[i + 3]);
      }
      ptx::mbarrier_arrive(&shared.p_full);
      std::uint32_t p[kQueries / 16][4];
      to_operand<T>(s, p);

      // dQ of the step before is multiplied ahead of dV, and leaves under it.
      kit::wait_full(shared.do_full, at_do);
      if constexpr (!kFirst) begin_dq(dq);
      own.issue_gradient(dv, p, shared.do_tile[at_do.stage]);
      if constexpr (!kFirst) end_dq(dq);
      ptx::wgmma_wait_group<0>();
      ptx::fence_registers(dv);
      release_in_both(&shared.do_empty[at_do.stage]);
      at.next();
      at_do.next();
      at_ds.next();
    };
    if (count > 0) do_step(0, std::true_type{});
    for (int step = 1; step < count; ++step) do_step(step, std::false_type{});
    last_dq();
    store_keys<kD>(args.dv + keys_at, dv, key, shape.n_k, 0, 1);
  } else {
    // dP, dS and dK. (K, for dQ, is there when the first weights are.)
    const int lane = threadIdx.x % 32;
    float dk[kD / 2] = {};
    if (count > 0) shared.values_full.wait();
    const auto do_step = [&](int step, auto is_first) {
      constexpr bool kFirst = decltype(is_first)::value;
      float dp[kQueries / 2], dq[32];
      kit::wait_full(shared.do_full, at_do);
      own.issue_transposed(dp, shared.v, shared.do_tile[at_do.stage]);
      ptx::wgmma_wait_group<0>();
      ptx::fence_registers(dp);
      // dS = P (dP - D), with the weights of the thread that has the same place there.
      kit::wait(&shared.p_full, step % 2);
      const float* mean = shared.mean[at_do.stage];
#pragma unroll
      for (int i = 0; i < kQueries / 2; i += 4) {
        const float4 p = shared.p[i / 4 * 128 + own_thread];
        dp[i] = p.x * (dp[i] - mean[query_of_register(i)]);
        dp[i + 1] = p.y * (dp[i + 1] - mean[query_of_register(i + 1)]);
        dp[i + 2] = p.z * (dp[i + 2] - mean[query_of_register(i + 2)]);
        dp[i + 3] = p.w * (dp[i + 3] - mean[query_of_register(i + 3)]);
      }
      ptx::fence_proxy_async();  // TMA fills what ordinary loads have read
      ptx::mbarrier_arrive(&shared.p_empty);
      __syncwarp();
      release_in_both(&shared.do_empty[at_do.stage]);

      // region hand_over
      // dS goes to this block's tensor cores and to the other block, as soon as both blocks have
      // multiplied what lay there. A warp's 16 keys lie side by side: it sends them by itself.
      std::uint32_t ds[kQueries / 16][4];
      to_operand<T>(dp, ds);
      kit::wait_empty(shared.ds_empty, at_ds);
      own.store_ds(shared.ds[at_ds.stage][0], ds);
      ptx::fence_proxy_async();
      __syncwarp();
      if (lane == 0) {
        constexpr int kSent = Tile::kDsBytes / 4;
        const int first = own_thread / 32 * kSent;
        std::uint64_t* full = &shared.ds_full[at_ds.stage];
        ptx::mbarrier_arrive_expect_tx(full, kSent);  // what the other block sends
        ptx::cp_async_bulk_to_rank(shared.ds[at_ds.stage][1] + first,
                                   shared.ds[at_ds.stage][0] + first, kSent, full, 1 - rank);
      }
      __syncwarp();
      // endregion

      // dQ of the step before is multiplied ahead of dK, and leaves under it.
      kit::wait_full(shared.q_full, at);
      if constexpr (!kFirst) begin_dq(dq);
      own.issue_gradient(dk, ds, shared.q_tile[at.stage]);
      if constexpr (!kFirst) end_dq(dq);
      ptx::wgmma_wait_group<0>();
      ptx::fence_registers(dk);
      release_in_both(&shared.q_empty[at.stage]);
      at.next();
      at_do.next();
      at_ds.next();
    };
    if (count > 0) do_step(0, std::true_type{});
    for (int step = 1; step < count; ++step) do_step(step, std::false_type{});
    last_dq();
    store_keys<kD>(args.dk + keys_at, dk, key, shape.n_k, 0, shape.scale());
  }
  ptx::cluster_arrive();
  ptx::cluster_wait();
#endif
}

// Device pointers, aligned to 16 bytes. scratch: row_facts_and_dq_scratch(shape) floats.
template <class T, int kD>
void paired(const Shape& shape, const Tensors<T>& t, float* scratch, cudaStream_t stream) {
  if constexpr (kD != 256) {
    throw kit::Skip("for d = 256: up to 128 a block has registers for 128 keys");
  } else {
    using Tile = PairedTile<T>;
    constexpr int kShared = kit::aligned_shared_bytes<PairedShared<Tile>>();
    const auto kernel = paired_kernel<Tile>;
    kit::allow_shared(kernel, kShared);
    const Arguments<T> args = prepare(shape, t, scratch, true, stream);
    cudaLaunchAttribute cluster;
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim = {2, 1, 1};
    cudaLaunchConfig_t config = {};
    config.gridDim =
        static_cast<unsigned>(2 * shape.all_kv_heads() * Steps<ClusterTile>::key_tiles(shape));
    config.blockDim = kPairedThreads;
    config.dynamicSmemBytes = kShared;
    config.stream = stream;
    config.attrs = &cluster;
    config.numAttrs = 1;
    CUDA_CHECK(cudaLaunchKernelEx(&config, kernel, half_tile_maps<Tile>(args), args));
    finish_dq_parts<HopperTile<T, kD>>(args, stream);
  }
}

}  // namespace backward
