// tma_fed: a third warpgroup feeds the two that multiply, one thread of it by TMA.
//
// The thread waits until a stage is empty, and has TMA fill it. Who multiplies waits until the next
// stage is full, and once per step for the other warpgroup: dS has two buffers, so the two need not
// meet twice. setmaxnreg moves the feeding warps' registers to where they are needed. What is still
// wrong: a step's products wait for each other, and for the exponentials between them.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/backward/kit/dq_accum.cuh"
#include "07_flash_attention/backward/kit/gradient_tile.cuh"
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

constexpr int kFedThreads = 384;

template <class Tile>
struct FedShared {
  alignas(1024) unsigned char k[Tile::kKeyBytes];
  alignas(1024) unsigned char v[Tile::kKeyBytes];
  alignas(1024) unsigned char ds[2][Tile::kDsBytes];
  QueryRing<Tile, 2> q, d_o;
  KeyBarrier keys_full;
};

template <class Tile>
__global__ void __launch_bounds__(kFedThreads, 1)
    tma_fed_kernel(const __grid_constant__ GradientMaps maps,
                   Arguments<typename Tile::Element> args) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  const auto& shape = args.shape;
  using T = typename Tile::Element;
  constexpr int kD = Tile::kD, kTileM = Tile::kTileM;
  extern __shared__ unsigned char dynamic_shared[];
  auto& shared = kit::aligned_shared<FedShared<Tile>>(dynamic_shared);
  // Barriers must stand before anybody waits at one, TMA included.
  if (threadIdx.x == 0) {
    shared.keys_full.init();
    shared.q.init();
    shared.d_o.init();
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  const TileRange<Tile> steps(shape);
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
  int b = 0;  // buffer of dS
  shared.keys_full.wait();
  for (int step = 0; step < steps.count(); ++step) {
    const std::int64_t head = steps.head(step);
    const int first_row = steps.first_row(step);
    // Keys are rows, queries columns.
    float s[kTileM / 2], dp[kTileM / 2];
    shared.q.wait(at);
    own.issue_transposed(s, shared.k, shared.q.tile[at.stage]);
    shared.d_o.wait(at);
    own.issue_transposed(dp, shared.v, shared.d_o.tile[at.stage]);
    ptx::wgmma_wait_group<0>();
    ptx::fence_registers(s);
    ptx::fence_registers(dp);

    // Weights and gradients of scores; rounded, they are operands of the next products.
    weigh(s, shared.q.stat[at.stage], shape, steps, first_row, key);
    to_score_gradients(dp, s, shared.d_o.stat[at.stage]);
    std::uint32_t p[kTileM / 16][4], ds[kTileM / 16][4];
    to_operand<T>(s, p);
    to_operand<T>(dp, ds);

    // Whoever reads the other buffer of dS has been at the barrier of the step before.
    own.store_ds(shared.ds[b], ds);
    ptx::fence_proxy_async();  // for the tensor cores, and for TMA, which fills a stage read before
    own.issue_gradient(dv, p, shared.d_o.tile[at.stage]);
    own.issue_gradient(dk, ds, shared.q.tile[at.stage]);
    // Nobody needs this stage any more: TMA may fill it.
    ptx::wgmma_wait_group<0>();
    ptx::fence_registers(dv);
    ptx::fence_registers(dk);
    shared.q.release(at);
    shared.d_o.release(at);
    at.next();

    ptx::named_barrier_sync(1, 256);  // dS of all keys is there
    float dq[Tile::kDqCols / 2];
    own.issue_dq(dq, shared.ds[b], shared.k);
    ptx::wgmma_wait_group<0>();
    ptx::fence_registers(dq);
    b ^= 1;

    DqAccum<Tile>::add(DqAccum<Tile>::of(args.rows, head, first_row, own.index()), dq);
  }

  // The block's rows of dK and dV are complete.
  const std::int64_t keys_at = steps.kv_head * shape.n_k * kD;
  own.store(args.dk + keys_at, dk, key, shape.n_k, shape.scale());
  own.store(args.dv + keys_at, dv, key, shape.n_k, 1);
#endif
}

// Device pointers, aligned to 16 bytes. scratch: row_stats_and_dq_scratch(shape) floats.
template <class T, int kD>
void tma_fed(const Shape& shape, const Tensors<T>& t, float* scratch, cudaStream_t stream) {
  using Tile = GradientTile<T, kD>;
  constexpr int kShared = kit::aligned_shared_bytes<FedShared<Tile>>();
  const auto kernel = tma_fed_kernel<Tile>;
  kit::allow_shared(kernel, kShared);
  const Arguments<T> args = prepare(shape, t, scratch, true, stream);
  const auto blocks = shape.all_kv_heads() * TileRange<Tile>::key_tiles(shape);
  kernel<<<static_cast<unsigned>(blocks), kFedThreads, kShared, stream>>>(tensor_maps<Tile>(args),
                                                                          args);
  CUDA_CHECK(cudaGetLastError());
  finish_dq_parts<Tile>(args, stream);
}

}  // namespace backward
