// longest_first: under a mask, blocks with the most steps begin first.
//
// Causal, the first tile of keys is seen by all queries, the last one by its own alone: a block has
// many steps, or one or two. So far blocks took the tiles of a head from first to last, and then
// those of the next head. Now the first blocks take the first tiles of 16 heads, the next ones the
// second tiles: the short blocks come last and fill the gaps. 16 heads and not all, so some eight
// blocks of a head share in L2 what they read. What is still wrong: the sums of dQ come in any
// order, so their last bits differ from run to run.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/backward/kit/dq_accum.cuh"
#include "07_flash_attention/backward/kit/gradient_tile.cuh"
#include "07_flash_attention/backward/kit/hand_over.cuh"
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

constexpr int kLongestThreads = 384;

template <class Tile>
struct LongestShared {
  alignas(1024) unsigned char k[Tile::kKeyBytes];
  alignas(1024) unsigned char v[Tile::kKeyBytes];
  DsRing<Tile> ds;
  QueryRing<Tile, 2> q, d_o;
  KeyBarrier keys_full;
};

template <class Tile>
__global__ void __launch_bounds__(kLongestThreads, 1)
    longest_first_kernel(const __grid_constant__ GradientMaps maps,
                         Arguments<typename Tile::Element> args) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  const auto& shape = args.shape;
  using T = typename Tile::Element;
  constexpr int kD = Tile::kD, kTileM = Tile::kTileM;
  extern __shared__ unsigned char dynamic_shared[];
  auto& shared = kit::aligned_shared<LongestShared<Tile>>(dynamic_shared);
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
    return;
  }

  // Two warpgroups multiply. dK and dV of their keys stay in registers to the end.
  ptx::setmaxnreg_inc<240>();
  const Warpgroup<Tile> own{};
  const int own_row = own.row(), key = steps.first_key + own.first_key() + own_row;
  float dk[Tile::kCols / 2] = {}, dv[Tile::kCols / 2] = {};
  shared.keys_full.wait();
  // dQ of the step before `at`: once both warpgroups' dS is there; and where it belongs.
  const auto begin_dq = [&](float(&dq)[Tile::kDqCols / 2]) {
    shared.ds.wait(at.before());
    own.issue_dq(dq, shared.ds.tile[at.before().stage], shared.k);
  };
  const auto end_dq = [&](int step, float(&dq)[Tile::kDqCols / 2]) {
    ptx::fence_registers(dq);
    shared.ds.release(at.before());
    DqAccum<Tile>::add(
        DqAccum<Tile>::of(args.rows, steps.head(step), steps.first_row(step), own.index()), dq);
  };
  for (int step = 0; step < steps.count(); ++step) {
    const int first_row = steps.first_row(step);
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

    // dS is written under dV. (At d = 256 there are too few registers for dV beside that, or dQ.)
    if (Tile::kSplit == 1) own.issue_gradient(dv, p, shared.d_o.tile[at.stage]);
    shared.ds.put(at, ds);
    if (Tile::kSplit == 2) {
      own.issue_gradient(dv, p, shared.d_o.tile[at.stage]);
      ptx::wgmma_wait_group<0>();
    }
    // dQ of the step before is multiplied after dV, and leaves under dK.
    if (step > 0) {
      float dq[Tile::kDqCols / 2];
      begin_dq(dq);
      ptx::wgmma_wait_group<1>();
      ptx::fence_registers(dv);
      shared.d_o.release(at);
      own.issue_gradient(dk, ds, shared.q.tile[at.stage]);
      ptx::wgmma_wait_group<1>();
      end_dq(step - 1, dq);
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
  // The last step has none after it.
  if (steps.count() > 0) {
    float dq[Tile::kDqCols / 2];
    begin_dq(dq);
    ptx::wgmma_wait_group<0>();
    end_dq(steps.count() - 1, dq);
  }
  // The block's rows of dK and dV are complete.
  const std::int64_t keys_at = steps.kv_head * shape.n_k * kD;
  own.store(args.dk + keys_at, dk, key, shape.n_k, shape.scale());
  own.store(args.dv + keys_at, dv, key, shape.n_k, 1);
#endif
}

// Device pointers, aligned to 16 bytes. scratch: row_stats_and_dq_scratch(shape) floats.
template <class T, int kD>
void longest_first(const Shape& shape, const Tensors<T>& t, float* scratch, cudaStream_t stream) {
  using Tile = GradientTile<T, kD>;
  constexpr int kShared = kit::aligned_shared_bytes<LongestShared<Tile>>();
  const auto kernel = longest_first_kernel<Tile>;
  kit::allow_shared(kernel, kShared);
  const Arguments<T> args = prepare(shape, t, scratch, true, stream);
  const auto blocks = shape.all_kv_heads() * TileRange<Tile>::key_tiles(shape);
  kernel<<<static_cast<unsigned>(blocks), kLongestThreads, kShared, stream>>>(
      tensor_maps<Tile>(args), args);
  CUDA_CHECK(cudaGetLastError());
  finish_dq_parts<Tile>(args, stream);
}

}  // namespace backward
