// in_order: blocks add to dQ one after the other, so every run gives the same bits.
//
// A counter for each part of dQ says how many tiles of keys have been added to it. A warpgroup
// leaves its part in shared memory. Its courier, a thread of the feeding warpgroup, waits for the
// turn, has TMA add the part, waits until that is done, and counts. Turns go from the first tile of
// keys of a head to the last, in longest_first's bands. All blocks of a head begin at its last
// queries, which see all keys, mask or not: a block waits where it begins, then stays behind the
// one before. Products overlap as in overlap. A turn costs the time until its sums are in memory.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/backward/kit/dq_accum.cuh"
#include "07_flash_attention/backward/kit/gradient_tile.cuh"
#include "07_flash_attention/backward/kit/hand_over.cuh"
#include "07_flash_attention/backward/kit/pairs.cuh"
#include "07_flash_attention/backward/kit/row_stats.cuh"
#include "07_flash_attention/backward/kit/tma_tiles.cuh"
#include "07_flash_attention/backward/kit/turns.cuh"
#include "07_flash_attention/backward/shape.hpp"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/pipeline.cuh"
#include "common/kit/ptx/roles.cuh"
#include "common/kit/ptx/tma.cuh"
#include "common/kit/ptx/wgmma.cuh"

namespace backward {

constexpr int kInOrderThreads = 384;

template <class Tile>
struct InOrderShared {
  alignas(1024) unsigned char k[Tile::kKeyBytes];
  alignas(1024) unsigned char v[Tile::kKeyBytes];
  alignas(1024) unsigned char ds[2][Tile::kDsBytes];
  QueryRing<Tile, 2> q, d_o;
  DqCourier<Tile> courier;
  KeyBarrier keys_full;
  int ticket;
};

// ticket: 0. turns: zeros, two for each tile of queries of each head.
template <class Tile>
__global__ void __launch_bounds__(kInOrderThreads, 1)
    in_order_kernel(const __grid_constant__ GradientMaps maps,
                    Arguments<typename Tile::Element> args, int* ticket, int* turns) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  const auto& shape = args.shape;
  using T = typename Tile::Element;
  constexpr int kD = Tile::kD, kTileM = Tile::kTileM;
  extern __shared__ __align__(1024) unsigned char aligned_shared_memory[];
  auto& shared = *reinterpret_cast<InOrderShared<Tile>*>(aligned_shared_memory);
  // Barriers must stand before anybody waits at one, TMA included.
  if (threadIdx.x == 0) {
    shared.ticket = atomicAdd(ticket, 1);
    shared.keys_full.init();
    shared.q.init();
    shared.d_o.init();
    shared.courier.init();
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  // Blocks wait for those with smaller tickets alone, and these are running: nobody waits in vain.
  // blockIdx would not do, since CUDA promises no order of blocks. (Of a shuffle the compiler knows
  // that all lanes have the same, so what follows from it takes registers once per warp.)
  const int block = __shfl_sync(0xffffffff, shared.ticket, 0);
  const TileRangeFromLast<Tile> steps(TileRange<Tile>::of(shape, block, 16));
  auto at = shared.q.begin();

  // The third warpgroup: single threads with a task each.
  if (threadIdx.x >= 256) {
    ptx::setmaxnreg_dec<24>();
    const int role = threadIdx.x / 32 - 8;  // 0: feeds; 1, 2: couriers of the two warpgroups
    if (threadIdx.x % 32 > 0 || role > 2) return;
    const int w = role - 1;  // the courier's warpgroup
    for (int step = 0; role > 0 && step < steps.count(); ++step) {
      const int first_row = steps.first_row(step);
      const std::int64_t part = DqAccum<Tile>::number(args.rows, steps.head(step), first_row, w);
      const DqSemaphore turn{turns + part,
                             steps.key_tile};  // whoever sees these keys, sees those before
      turn.wait();
      if (shared.courier.kByTma) {
        ptx::fence_proxy_async_global();  // what ordinary loads have seen, TMA adds to
        shared.courier.take(args.rows.dq_accum + part * Tile::kDqPart, w, step % 2);
        ptx::bulk_wait_group<0>();  // not only read: added
      } else {
        ptx::mbarrier_arrive(&shared.courier.empty[w]);  // the warpgroup may add
        kit::wait(&shared.courier.full[w], step % 2);    // it has
      }
      turn.pass();
    }
    if (role > 0) return;
    produce(shared, at, maps, args.rows, steps);
    return;
  }

  // Two warpgroups multiply. dK and dV of their keys stay in registers to the end.
  ptx::setmaxnreg_inc<240>();
  const Warpgroup<Tile> own{};
  const int own_row = own.row(), key = steps.first_key + own.first_key() + own_row;
  float dk[Tile::kCols / 2] = {}, dv[Tile::kCols / 2] = {};
  std::uint32_t b = 0;  // buffer of dS, and parity of the steps
  shared.keys_full.wait();
  typename TileRangeFromLast<Tile>::Walk walk(steps);
  for (int step = 0; step < steps.count(); ++step, walk.next(0)) {
    const int first_row = walk.row();
    // Keys are rows, queries columns.
    float s[kTileM / 2], dp[kTileM / 2];
    shared.q.wait(at);
    own.issue_transposed(s, shared.k, shared.q.tile[at.stage]);
    shared.d_o.wait(at);
    own.issue_transposed(dp, shared.v, shared.d_o.tile[at.stage]);
    // Weights, while dP is multiplied.
    ptx::wgmma_wait_group<1>();
    ptx::fence_registers(s);
    weigh(s, shared.q.stat[at.stage], shape, steps, first_row, key);
    std::uint32_t p[kTileM / 16][4], ds[kTileM / 16][4];
    to_operand<T>(s, p);
    // Gradients of scores; rounded, they and the weights are operands of the next products.
    ptx::wgmma_wait_group<0>();
    ptx::fence_registers(dp);
    to_score_gradients(dp, s, shared.d_o.stat[at.stage]);
    to_operand<T>(dp, ds);

    // Whoever reads the other buffer of dS has been at the barrier of the step before.
    own.store_ds(shared.ds[b], ds);
    own.issue_gradient(dv, p, shared.d_o.tile[at.stage]);
    ptx::fence_proxy_async();
    ptx::named_barrier_sync(1, 256);  // dS of all keys is there
    float dq[Tile::kDqCols / 2];
    if (Tile::kSplit == 2) ptx::wgmma_wait_group<0>();  // too few registers for both
    own.issue_dq(dq, shared.ds[b], shared.k);
    ptx::wgmma_wait_group<1>();
    ptx::fence_registers(dv);
    shared.d_o.release(at);

    // dK runs while dQ leaves.
    own.issue_gradient(dk, ds, shared.q.tile[at.stage]);
    ptx::wgmma_wait_group<1>();
    ptx::fence_registers(dq);
    // Where the warpgroup itself adds, the courier says when, and is told that it has.
    if (!shared.courier.kByTma) kit::wait(&shared.courier.empty[own.index()], b);
    shared.courier.hand_over(dq, args.rows, steps.head(step), first_row, own.index(), b);
    if (!shared.courier.kByTma) ptx::mbarrier_arrive(&shared.courier.full[own.index()]);
    b ^= 1;
    ptx::wgmma_wait_group<0>();
    ptx::fence_registers(dk);
    shared.q.release(at);
    at.next();
  }
  // The block's rows of dK and dV are complete.
  const std::int64_t keys_at = steps.kv_head * shape.n_k * kD;
  own.store(args.dk + keys_at, dk, key, shape.n_k, shape.scale());
  own.store(args.dv + keys_at, dv, key, shape.n_k, 1);
#endif
}

// Floats of scratch memory: row_stats_and_dq_scratch(shape), and behind them the ticket and turns.
inline std::int64_t in_order_scratch(const Shape& shape) {
  return row_stats_and_dq_scratch(shape) + 1 + 2 * shape.all_heads() * padded_rows(shape) / 64;
}

// Device pointers, aligned to 16 bytes.
template <class T, int kD>
void in_order(const Shape& shape, const Tensors<T>& t, float* scratch, cudaStream_t stream) {
  using Tile = GradientTile<T, kD>;
  constexpr int kShared = sizeof(InOrderShared<Tile>);
  const auto kernel = in_order_kernel<Tile>;
  kit::allow_shared(kernel, kShared);
  const Arguments<T> args = prepare(shape, t, scratch, true, stream);
  int* ticket = reinterpret_cast<int*>(scratch + row_stats_and_dq_scratch(shape));
  const std::int64_t counters = in_order_scratch(shape) - row_stats_and_dq_scratch(shape);
  CUDA_CHECK(cudaMemsetAsync(ticket, 0, counters * sizeof(int), stream));
  const auto blocks = shape.all_kv_heads() * TileRange<Tile>::key_tiles(shape);
  kernel<<<static_cast<unsigned>(blocks), kInOrderThreads, kShared, stream>>>(
      tensor_maps<Tile>(args), args, ticket, ticket + 1);
  CUDA_CHECK(cudaGetLastError());
  finish_dq_parts<Tile>(args, stream);
}

}  // namespace backward
