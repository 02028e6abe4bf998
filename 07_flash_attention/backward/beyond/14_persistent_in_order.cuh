// persistent_in_order: the blocks of errands add to dQ one after the other, as those of in_order
// do.
//
// A block per SM takes one tile of keys after the other, and two couriers take its dQ away, each
// when its turn has come: a courier may still be at the last steps of a tile when its warpgroup has
// begun the next. All tiles are drawn from a counter, the first ones, too: so a tile waits for
// tiles alone that blocks have drawn which run. One warp is left for errands. What is still wrong:
// where tiles have few steps, the turns of a head take longer than its products.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "07_flash_attention/backward/kit/dq_accum.cuh"
#include "07_flash_attention/backward/kit/errands.cuh"
#include "07_flash_attention/backward/kit/gradient_tile.cuh"
#include "07_flash_attention/backward/kit/hand_over.cuh"
#include "07_flash_attention/backward/kit/heads_done.cuh"
#include "07_flash_attention/backward/kit/pairs.cuh"
#include "07_flash_attention/backward/kit/row_stats.cuh"
#include "07_flash_attention/backward/kit/tma_tiles.cuh"
#include "07_flash_attention/backward/kit/turns.cuh"
#include "07_flash_attention/backward/shape.hpp"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/pipeline.cuh"
#include "common/kit/programmatic_launch.cuh"
#include "common/kit/ptx/grid.cuh"
#include "common/kit/ptx/roles.cuh"
#include "common/kit/ptx/tma.cuh"
#include "common/kit/ptx/wgmma.cuh"

namespace backward {

constexpr int kPersistentInOrderThreads = 384;

template <class Tile>
struct PersistentInOrderShared {
  alignas(1024) unsigned char k[Tile::kKeyBytes];
  alignas(1024) unsigned char v[Tile::kKeyBytes];
  DsRing<Tile> ds;
  QueryRing<Tile, 2> q, d_o;
  std::uint64_t k_full, k_empty, v_full, v_empty;
  ErrandPlace errands;
  DqCourier<Tile> courier;
  int2 tile;  // of keys: its K/V head, or -1 if there are no more, and its number; come with it

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  __device__ __forceinline__ void init() {
    ptx::mbarrier_init(&k_full, 1);
    ptx::mbarrier_init(&k_empty, 258);  // all who compute, and two couriers
    ptx::mbarrier_init(&v_full, 1);
    ptx::mbarrier_init(&v_empty, 256);
    q.init();
    d_o.init();
    ds.init();
    errands.init();
    courier.init();
    ptx::fence_mbarrier_init();
  }
#endif
};

// turns: two for each tile of queries of each head, zeros.
template <class Tile>
__global__ void __launch_bounds__(kPersistentInOrderThreads, 1)
    persistent_in_order_kernel(const __grid_constant__ GradientMaps maps,
                               Arguments<typename Tile::Element> args, HeadsDone heads,
                               Errands<typename Tile::Element> errands, int* drawn, int* turns,
                               int band) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  const auto& shape = args.shape;
  using T = typename Tile::Element;
  using Steps = TileRangeFromLast<Tile>;
  constexpr int kD = Tile::kD, kTileM = Tile::kTileM;
  constexpr bool kTurns = kD == 128;  // at 64 they cost more than they bring
  extern __shared__ __align__(1024) unsigned char aligned_shared_memory[];
  auto& shared = *reinterpret_cast<PersistentInOrderShared<Tile>*>(aligned_shared_memory);
  if (threadIdx.x == 0) shared.init();
  __syncthreads();
  ptx::griddepcontrol_wait();  // for D and zeros of the first heads
  heads.begin();
  auto at = shared.q.begin();

  // The third warpgroup: one thread has the tiles brought, two are couriers, and a warp runs
  // errands.
  if (threadIdx.x >= 256) {
    ptx::setmaxnreg_dec<24>();
    if (threadIdx.x == 256) {
      const int count = static_cast<int>(shape.all_kv_heads()) * Steps::key_tiles(shape);
      const auto send = [&](const Steps& steps, int step) {
        const std::int64_t head = steps.head(step);
        const int row = steps.first_row(step);
        kit::wait_empty(shared.q.empty, at);
        shared.q.send(at, maps.q, args.rows.lse2, args.rows.pitch, head, row);
        kit::wait_empty(shared.d_o.empty, at);
        shared.d_o.send(at, maps.d_o, args.rows.delta, args.rows.pitch, head, row);
        at.next();
      };
      std::uint32_t phase = 1;
      for (int number = atomicAdd(drawn, 1); number < count; phase ^= 1) {
        const Steps steps(TileRange<Tile>::of(shape, number, band));
        const int kv_head = static_cast<int>(steps.kv_head);
        // The first queries are released first, then the values, then the keys.
        errands.wait(kv_head);
        send(steps, 0);
        kit::wait(&shared.v_empty, phase);
        ptx::mbarrier_arrive_expect_tx(&shared.v_full, Tile::kKeyBytes);
        ptx::tensor_load(shared.v, &maps.v, 0, steps.first_key, 0, kv_head, &shared.v_full);
        kit::wait(&shared.k_empty, phase);
        shared.tile = make_int2(kv_head, steps.key_tile);
        ptx::mbarrier_arrive_expect_tx(&shared.k_full, Tile::kKeyBytes);
        ptx::tensor_load(shared.k, &maps.k, 0, steps.first_key, 0, kv_head, &shared.k_full);
        for (int step = 1; step < steps.count(); ++step) send(steps, step);
        number = atomicAdd(drawn, 1);
      }
      kit::wait(&shared.k_empty, phase);
      shared.tile = make_int2(-1, 0);
      ptx::mbarrier_arrive(&shared.k_full);
    } else if (threadIdx.x == 288 || threadIdx.x == 320) {
      // region couriers
      const int w = threadIdx.x / 32 - 9;
      std::uint32_t phase = 0;
      for (std::uint32_t tile = 0;; ++tile) {
        kit::wait(&shared.k_full, tile % 2);
        const int2 its = shared.tile;
        if (its.x < 0) break;
        ptx::mbarrier_arrive(&shared.k_empty);
        const Steps steps(TileRange<Tile>(shape, its.x, its.y));
        for (int step = 0; step < steps.count(); ++step, phase ^= 1) {
          const std::int64_t part =
              DqAccum<Tile>::number(args.rows, steps.head(step), steps.first_row(step), w);
          const DqSemaphore turn{turns + part, steps.key_tile};
          turn.wait();
          ptx::fence_proxy_async_global();  // what ordinary loads have seen, TMA adds to
          shared.courier.take(args.rows.dq_accum + part * Tile::kDqPart, w, phase);
          ptx::bulk_wait_group<0>();  // not only read: added
          turn.pass();
        }
        DqSemaphore{heads.count + steps.kv_head, 0}.pass();
      }
      // endregion
    } else if (threadIdx.x >= 352) {
      run_errands<kD>(shared.errands, args, errands);
    }
    return;
  }

  // Two warpgroups multiply. dK and dV of a tile of keys stay in registers to its end.
  ptx::setmaxnreg_inc<240>();
  const Warpgroup<Tile> own{};
  const kit::Turn<2> turn{own.index() + 1};
  if (kTurns && own.index() == 1) turn.pass_on();  // warpgroup 0 begins
  std::uint32_t dq_phase = 0;
  for (std::uint32_t tile = 0;; ++tile) {
    kit::wait(&shared.k_full, tile % 2);
    const int kv_head = __shfl_sync(0xffffffff, shared.tile.x, 0);
    if (kv_head < 0) break;
    const Steps steps(TileRange<Tile>(shape, kv_head, __shfl_sync(0xffffffff, shared.tile.y, 0)));
    const int key = steps.first_key + own.first_key() + own.row();
    float dk[Tile::kCols / 2] = {}, dv[Tile::kCols / 2] = {};
    typename Steps::Walk walk(steps);
    kit::wait(&shared.v_full, tile % 2);
    // dQ of the step before `at`: once both warpgroups' dS is there.
    const auto begin_dq = [&](float(&dq)[Tile::kDqCols / 2]) {
      shared.ds.wait(at.before());
      own.issue_dq(dq, shared.ds.tile[at.before().stage], shared.k);
    };
    const auto end_dq = [&](float(&dq)[Tile::kDqCols / 2]) {
      ptx::fence_registers(dq);
      shared.ds.release(at.before());
      shared.courier.hand_over(dq, args.rows, 0, 0, own.index(), dq_phase);
      dq_phase ^= 1;
    };
    for (int step = 0; step < steps.count(); ++step, walk.next(0)) {
      const int first_row = walk.row();
      // Keys are rows, queries columns.
      float s[kTileM / 2], dp[kTileM / 2];
      shared.q.wait(at);
      if (kTurns) turn.wait();
      own.issue_transposed(s, shared.k, shared.q.tile[at.stage]);
      shared.d_o.wait(at);
      own.issue_transposed(dp, shared.v, shared.d_o.tile[at.stage]);
      // Weights, while dP is multiplied, and then the other warpgroup's S.
      ptx::wgmma_wait_group<1>();
      if (kTurns) turn.pass_on();
      ptx::fence_registers(s);
      weigh(s, shared.q.stat[at.stage], shape, steps, first_row, key);
      std::uint32_t p[kTileM / 16][4], ds[kTileM / 16][4];
      to_operand<T>(s, p);
      // Gradients of scores; rounded, they and the weights are operands of the next products.
      ptx::wgmma_wait_group<0>();
      ptx::fence_registers(dp);
      to_score_gradients(dp, s, shared.d_o.stat[at.stage]);
      to_operand<T>(dp, ds);

      // dS is written under dV.
      own.issue_gradient(dv, p, shared.d_o.tile[at.stage]);
      shared.ds.put(at, ds);
      // dQ of the step before is multiplied after dV, and leaves under dK.
      if (step > 0) {
        float dq[Tile::kDqCols / 2];
        begin_dq(dq);
        ptx::wgmma_wait_group<1>();
        ptx::fence_registers(dv);
        shared.d_o.release(at);
        own.issue_gradient(dk, ds, shared.q.tile[at.stage]);
        ptx::wgmma_wait_group<1>();
        end_dq(dq);
      } else {
        ptx::wgmma_wait_group<0>();
        ptx::fence_registers(dv);
        shared.d_o.release(at);
        own.issue_gradient(dk, ds, shared.q.tile[at.stage]);
      }
      ptx::wgmma_wait_group<0>();
      ptx::fence_registers(dk);
      shared.q.release(at);
      at.next();
    }
    ptx::mbarrier_arrive(&shared.v_empty);
    // The last step has none after it.
    float dq[Tile::kDqCols / 2];
    begin_dq(dq);
    ptx::wgmma_wait_group<0>();
    ptx::mbarrier_arrive(&shared.k_empty);
    end_dq(dq);
    // Its rows of dK and dV are complete.
    const std::int64_t keys_at = steps.kv_head * shape.n_k * kD;
    own.store(args.dk + keys_at, dk, key, shape.n_k, shape.scale());
    own.store(args.dv + keys_at, dv, key, shape.n_k, 1);
  }
  if (kTurns && own.index() == 0) turn.wait();  // nobody leaves with a turn unclaimed
#endif
}

// Behind dQ two counters for each K/V head, one of tiles, one of errands, and the turns.
inline std::int64_t persistent_in_order_scratch(const Shape& shape) {
  return errands_scratch(shape) + 2 * shape.all_heads() * padded_rows(shape) / 64;
}

// region band
// How many heads are begun together. All tiles of keys of a head that are there at a time add in
// turn. So where a tile has few steps, few tiles of a head should be there, and more heads.
template <class Tile>
int heads_of_band(const Shape& shape) {
  const auto keys = static_cast<double>(shape.keys());
  const double steps = pairs(shape) / keys / Tile::kTileM;  // a tile has
  return steps < 4 ? 64 : steps < 16 ? 32 : 16;
}
// endregion

// Device pointers, aligned to 16 bytes. scratch: persistent_in_order_scratch(shape) floats.
template <class T, int kD>
void persistent_in_order(const Shape& shape, const Tensors<T>& t, float* scratch,
                         cudaStream_t stream) {
  if constexpr (kD == 256) {
    throw kit::Skip("is for d = 64 and 128");
  } else {
    using Tile = GradientTile<T, kD>;
    const auto kv_heads = static_cast<int>(shape.all_kv_heads());
    const int tiles = TileRange<Tile>::key_tiles(shape), band = heads_of_band<Tile>(shape);
    const int ahead = heads_ahead(shape, tiles, band);
    const std::int64_t counted =
        persistent_in_order_scratch(shape) - row_stats_and_dq_scratch(shape);
    const Arguments<T> args = prepare_at_once<T, kD>(
        shape, t, scratch, stream, static_cast<int>(counted), std::int64_t{ahead} * shape.group());
    int* counters = reinterpret_cast<int*>(scratch + row_stats_and_dq_scratch(shape));
    const HeadsDone heads{counters, 2 * tiles, shape.group()};
    int* drawn = counters + 2 * kv_heads;  // tiles, and behind them errands
    const auto errands = Errands<T>::of(shape, t, counters + kv_heads, drawn + 1, ahead);
    constexpr int kShared = sizeof(PersistentInOrderShared<Tile>);
    const auto kernel = persistent_in_order_kernel<Tile>;
    kit::allow_shared(kernel, kShared);
    const auto blocks =
        std::min<std::int64_t>(kit::multiprocessor_count(), std::int64_t{kv_heads} * tiles);
    kit::launch_programmatic(kernel, static_cast<unsigned>(blocks), kPersistentInOrderThreads,
                             kShared, stream, tensor_maps<Tile>(args), args, heads, errands, drawn,
                             drawn + 2, band);
    launch_early_finish<Tile>(args, heads, stream);
  }
}

}  // namespace backward
