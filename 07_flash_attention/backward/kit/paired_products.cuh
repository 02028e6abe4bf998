// What the two warpgroups of a block multiply at d = 256, where two blocks share 128 keys: the one
// S, the weights and dV, the other dP, dS and dK, and each a quarter of dQ of the step before.
//
// Order is the order of a cluster's steps, as a TileRange is. Its Walk goes through them one by
// one, without divisions: row() is the step's first query, next(n) goes on and returns how many
// tiles of queries the next step's lies behind, where a head has n of them. MayAdd says when a
// step's dQ may be added: wait() comes before the additions, pass() behind them.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "07_flash_attention/backward/kit/dq_accum.cuh"
#include "07_flash_attention/backward/kit/gradient_tile.cuh"
#include "07_flash_attention/backward/kit/paired_blocks.cuh"
#include "07_flash_attention/backward/kit/pairs.cuh"
#include "07_flash_attention/backward/kit/row_stats.cuh"
#include "07_flash_attention/backward/shape.hpp"
#include "common/kit/pipeline.cuh"
#include "common/kit/ptx/cluster.cuh"
#include "common/kit/ptx/tma.cuh"
#include "common/kit/ptx/wgmma.cuh"
#include "common/kit/toolkit.cuh"

namespace backward {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// dQ of the step before, of its four slabs of 64 columns one: a block has two, a warpgroup one.
template <class Tile, class Order, class MayAdd>
struct PairedDq {
  PairedShared<Tile>& shared;
  const unsigned char *k, *k_other;  // the slab's columns of this block's keys, of the other's
  float4* to;                        // this thread's first four floats of the step's slab
  int head_tiles;                    // tiles of queries of a head
  typename Order::Walk walk;         // of the additions
  MayAdd turn;
  kit::PipelineState<2> at;  // the stage of dS that the step fills

  __device__ __forceinline__ PairedDq(PairedShared<Tile>& shared, const RowStats& rows,
                                      const Order& steps, int rank, int warpgroup,
                                      const MayAdd& turn)
      : shared(shared),
        k(shared.k + (2 * rank + warpgroup) * Tile::kKeySlab),
        k_other(shared.k_other + warpgroup * Tile::kKeySlab),
        head_tiles(rows.pitch / Tile::kTileM),
        walk(steps),
        turn(turn) {
    float* part = DqAccum<Tile>::of(rows, steps.head(0), walk.row(), rank);
    to = reinterpret_cast<float4*>(part + warpgroup * 64 * 64) + threadIdx.x % 128;
  }

  // Once dS of both blocks is there.
  __device__ __forceinline__ void begin(float (&dq)[32]) {
    const auto before = at.before();
    kit::wait_full(shared.ds_full, before);
    issue_cluster_dq<Tile>(dq, shared.ds[before.stage], k, k_other);
  }

  // Where it goes is counted on: a division in each step would cost registers too.
  __device__ __forceinline__ void add(const float (&dq)[32]) {
    turn.wait();
#pragma unroll
    for (int i = 0; i < 32; i += 4) {
      kit::add_four(to + i / 4 * 128, make_float4(dq[i], dq[i + 1], dq[i + 2], dq[i + 3]));
    }
    turn.pass();
    to += walk.next(head_tiles) * (Tile::kTileM * Tile::kD / 4);
  }

  // Behind a step's last product: dQ is there once one group of wgmma is left.
  __device__ __forceinline__ void end(float (&dq)[32]) {
    ptx::wgmma_wait_group<1>();
    ptx::fence_registers(dq);
    release_in_both(&shared.ds_empty[at.before().stage]);
    add(dq);
  }

  // That of the last step.
  __device__ __forceinline__ void finish() {
    float dq[32];
    begin(dq);
    ptx::wgmma_wait_group<0>();
    ptx::fence_registers(dq);
    add(dq);
  }
};

// S, the weights and dV. Keys are rows, queries columns. key: this thread's first.
template <class Tile, class Order, class MayAdd>
__device__ __forceinline__ void weights_and_dv(PairedShared<Tile>& shared,
                                               const Arguments<typename Tile::Element>& args,
                                               const Order& steps, int key,
                                               PairedDq<Tile, Order, MayAdd>& dq_before) {
  constexpr int kD = Tile::kD, kTileM = Tile::kTileM;
  const Warpgroup<Tile> own{};
  const int own_thread = threadIdx.x % 128, count = steps.count();
  float dv[kD / 2] = {};
  kit::PipelineState<2> at;
  kit::PipelineState<1> at_do;
  typename Order::Walk walk(steps);
  const std::int64_t keys_at = steps.kv_head * args.shape.n_k * kD;
  if (count > 0) shared.keys_full.wait();
  const auto do_step = [&](int step, auto is_first) {
    constexpr bool kFirst = decltype(is_first)::value;
    // The weights. What they were computed from may be overwritten then.
    float s[kTileM / 2], dq[32];
    const int row = walk.row();
    kit::wait_full(shared.q_full, at);
    own.issue_transposed(s, shared.k, shared.q_tile[at.stage]);
    if constexpr (kFirst) shared.values_full.wait();  // and the other block's keys, for dQ
    ptx::wgmma_wait_group<0>();
    ptx::fence_registers(s);
    weigh<ClusterTile>(s, shared.lse2[at.stage], args.shape, steps, row, key);
    walk.next(0);
    ptx::fence_proxy_async();  // TMA fills what ordinary loads have read
    __syncwarp();
    release_in_both(&shared.q_empty[at.stage]);

    // The other warpgroup wants the weights as they are; the next product wants them rounded.
    kit::wait(&shared.p_empty, (step + 1) % 2);
#pragma unroll
    for (int i = 0; i < kTileM / 2; i += 4) {
      shared.p[i / 4 * 128 + own_thread] = make_float4(s[i], s[i + 1], s[i + 2], s[i + 3]);
    }
    ptx::mbarrier_arrive(&shared.p_full);
    std::uint32_t p[kTileM / 16][4];
    to_operand<typename Tile::Element>(s, p);

    // dQ of the step before is multiplied ahead of dV, and leaves under it.
    kit::wait_full(shared.do_full, at_do);
    if constexpr (!kFirst) dq_before.begin(dq);
    own.issue_gradient(dv, p, shared.do_tile[at_do.stage]);
    if constexpr (!kFirst) dq_before.end(dq);
    ptx::wgmma_wait_group<0>();
    ptx::fence_registers(dv);
    release_in_both(&shared.do_empty[at_do.stage]);
    at.next();
    at_do.next();
    dq_before.at.next();
  };
  if (count > 0) do_step(0, std::true_type{});
  for (int step = 1; step < count; ++step) do_step(step, std::false_type{});
  if (count > 0) dq_before.finish();
  store_keys<kD>(args.dv + keys_at, dv, key, args.shape.n_k, 0, 1);
}

// dP, dS and dK. rank: the block's in the cluster.
template <class Tile, class Order, class MayAdd>
__device__ __forceinline__ void score_gradients_and_dk(
    PairedShared<Tile>& shared, const Arguments<typename Tile::Element>& args, const Order& steps,
    int rank, int key, PairedDq<Tile, Order, MayAdd>& dq_before) {
  constexpr int kD = Tile::kD, kTileM = Tile::kTileM;
  const Warpgroup<Tile> own{};
  const int own_thread = threadIdx.x % 128, lane = threadIdx.x % 32, count = steps.count();
  float dk[kD / 2] = {};
  kit::PipelineState<2> at;
  kit::PipelineState<1> at_do;
  const std::int64_t keys_at = steps.kv_head * args.shape.n_k * kD;
  // (K, for dQ, is there when the first weights are.)
  if (count > 0) shared.values_full.wait();
  const auto do_step = [&](int step, auto is_first) {
    constexpr bool kFirst = decltype(is_first)::value;
    float dp[kTileM / 2], dq[32];
    kit::wait_full(shared.do_full, at_do);
    own.issue_transposed(dp, shared.v, shared.do_tile[at_do.stage]);
    ptx::wgmma_wait_group<0>();
    ptx::fence_registers(dp);
    // dS = P (dP - D), with the weights of the thread that has the same place there.
    kit::wait(&shared.p_full, step % 2);
    const float* delta = shared.delta[at_do.stage];
#pragma unroll
    for (int i = 0; i < kTileM / 2; i += 4) {
      const float4 p = shared.p[i / 4 * 128 + own_thread];
      dp[i] = p.x * (dp[i] - delta[query_of_register(i)]);
      dp[i + 1] = p.y * (dp[i + 1] - delta[query_of_register(i + 1)]);
      dp[i + 2] = p.z * (dp[i + 2] - delta[query_of_register(i + 2)]);
      dp[i + 3] = p.w * (dp[i + 3] - delta[query_of_register(i + 3)]);
    }
    ptx::fence_proxy_async();  // TMA fills what ordinary loads have read
    ptx::mbarrier_arrive(&shared.p_empty);
    __syncwarp();
    release_in_both_by_thread(&shared.do_empty[at_do.stage], rank);

    // region hand_over
    // dS goes to this block's tensor cores and to the other block, as soon as both blocks have
    // multiplied what lay there. A warp's 16 keys lie side by side: it sends them by itself.
    std::uint32_t ds[kTileM / 16][4];
    to_operand<typename Tile::Element>(dp, ds);
    const auto at_ds = dq_before.at;
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
    if constexpr (!kFirst) dq_before.begin(dq);
    own.issue_gradient(dk, ds, shared.q_tile[at.stage]);
    if constexpr (!kFirst) dq_before.end(dq);
    ptx::wgmma_wait_group<0>();
    ptx::fence_registers(dk);
    release_in_both(&shared.q_empty[at.stage]);
    at.next();
    at_do.next();
    dq_before.at.next();
  };
  if (count > 0) do_step(0, std::true_type{});
  for (int step = 1; step < count; ++step) do_step(step, std::false_type{});
  if (count > 0) dq_before.finish();
  store_keys<kD>(args.dk + keys_at, dk, key, args.shape.n_k, 0, args.shape.scale());
}
#endif

}  // namespace backward
