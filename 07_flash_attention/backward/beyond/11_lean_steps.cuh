// lean_steps: a step of early_finish takes fewer instructions.
//
// There each thread divides in each step, to find the step's head and row. And it reads D and the
// log-sum-exp by generic loads: the struct in shared memory was found by arithmetic on an integer,
// so it may lie in any memory, for all that the compiler knows. Now who multiplies walks from step
// to step, and its shared memory is declared with its alignment: these loads know their space. What
// is still wrong: a block begins and ends with each tile of keys.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/backward/kit/dq_accum.cuh"
#include "07_flash_attention/backward/kit/gradient_tile.cuh"
#include "07_flash_attention/backward/kit/hand_over.cuh"
#include "07_flash_attention/backward/kit/heads_done.cuh"
#include "07_flash_attention/backward/kit/pairs.cuh"
#include "07_flash_attention/backward/kit/row_stats.cuh"
#include "07_flash_attention/backward/kit/tma_tiles.cuh"
#include "07_flash_attention/backward/shape.hpp"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/pipeline.cuh"
#include "common/kit/ptx/roles.cuh"
#include "common/kit/ptx/tma.cuh"
#include "common/kit/ptx/wgmma.cuh"

namespace backward {

constexpr int kLeanThreads = 384;

template <class Tile>
struct LeanShared {
  alignas(1024) unsigned char k[Tile::kKeyBytes];
  alignas(1024) unsigned char v[Tile::kKeyBytes];
  DsRing<Tile> ds;
  QueryRing<Tile, 2> q, d_o;
  KeyBarrier keys_full;
};

// heads: is told when dQ has been added.
template <class Tile>
__global__ void __launch_bounds__(kLeanThreads, 1)
    lean_steps_kernel(const __grid_constant__ GradientMaps maps,
                      Arguments<typename Tile::Element> args, HeadsDone heads) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  const auto& shape = args.shape;
  using T = typename Tile::Element;
  constexpr int kD = Tile::kD, kTileM = Tile::kTileM;
  constexpr bool kTurns = kD == 128;  // at 64 they cost more than they bring
  // region space
  extern __shared__ __align__(1024) unsigned char aligned_shared_memory[];
  auto& shared = *reinterpret_cast<LeanShared<Tile>*>(aligned_shared_memory);
  // endregion
  heads.begin();
  // Barriers must stand before anybody waits at one, TMA included.
  if (threadIdx.x == 0) {
    shared.keys_full.init();
    shared.q.init();
    shared.d_o.init();
    shared.ds.init();
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  const auto steps =
      TileRange<Tile>::of(shape, blockIdx.x, shape.causal ? 16 : 0);  // in bands if causal
  auto at = shared.q.begin();

  // The third warpgroup: one thread has the tiles brought.
  if (threadIdx.x >= 256) {
    ptx::setmaxnreg_dec<24>();
    if (threadIdx.x == 256) produce(shared, at, maps, args.rows, steps);
    __syncwarp();
    if (threadIdx.x < 288) heads.tell(steps.kv_head);
    return;
  }

  // Two warpgroups multiply. dK and dV of their keys stay in registers to the end.
  ptx::setmaxnreg_inc<240>();
  const Warpgroup<Tile> own{};
  const int own_row = own.row(), key = steps.first_key + own.first_key() + own_row;
  float dk[Tile::kCols / 2] = {}, dv[Tile::kCols / 2] = {};
  const kit::Turn<2> turn{own.index() + 1};
  if (kTurns && own.index() == 1) turn.pass_on();  // warpgroup 0 begins
  auto place = steps.begin();  // of a step, and where dQ of the one before belongs
  float* dq_part = nullptr;
  shared.keys_full.wait();
  // dQ of the step before `at`: once both warpgroups' dS is there.
  const auto begin_dq = [&](float(&dq)[Tile::kDqCols / 2]) {
    shared.ds.wait(at.before());
    own.issue_dq(dq, shared.ds.tile[at.before().stage], shared.k);
  };
  const auto end_dq = [&](float(&dq)[Tile::kDqCols / 2]) {
    ptx::fence_registers(dq);
    shared.ds.release(at.before());
    DqAccum<Tile>::add(dq_part, dq);
  };
  for (int step = 0; step < steps.count(); ++step, place.next()) {
    const int first_row = place.row;
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
    dq_part = DqAccum<Tile>::of(args.rows, place.head, place.row, own.index());
  }
  if (kTurns && own.index() == 0) turn.wait();  // nobody leaves with a turn unclaimed
  // The last step has none after it.
  if (steps.count() > 0) {
    float dq[Tile::kDqCols / 2];
    begin_dq(dq);
    ptx::wgmma_wait_group<0>();
    end_dq(dq);
  }
  heads.arrive();
  // The block's rows of dK and dV are complete.
  const std::int64_t keys_at = steps.kv_head * shape.n_k * kD;
  own.store(args.dk + keys_at, dk, key, shape.n_k, shape.scale());
  own.store(args.dv + keys_at, dv, key, shape.n_k, 1);
#endif
}

// Device pointers, aligned to 16 bytes. scratch: heads_done_scratch(shape) floats.
template <class T, int kD>
void lean_steps(const Shape& shape, const Tensors<T>& t, float* scratch, cudaStream_t stream) {
  if constexpr (kD == 256) {
    throw kit::Skip("is for d = 64 and 128");
  } else {
    using Tile = GradientTile<T, kD>;
    const Arguments<T> args = prepare(shape, t, scratch, true, stream, shape.all_kv_heads());
    int* counters = reinterpret_cast<int*>(scratch + row_stats_and_dq_scratch(shape));
    const HeadsDone heads{counters, TileRange<Tile>::key_tiles(shape), shape.group()};
    constexpr int kShared = sizeof(LeanShared<Tile>);
    const auto kernel = lean_steps_kernel<Tile>;
    kit::allow_shared(kernel, kShared);
    const auto blocks = shape.all_kv_heads() * TileRange<Tile>::key_tiles(shape);
    kernel<<<static_cast<unsigned>(blocks), kLeanThreads, kShared, stream>>>(
        tensor_maps<Tile>(args), args, heads);
    CUDA_CHECK(cudaGetLastError());
    launch_early_finish<Tile>(args, heads, stream);
  }
}

}  // namespace backward
