// wide_atomics: dQ is added as it lies in registers, 16 bytes an instruction.
//
// The fp32 copy of dQ need not look like dQ. Here it has the order of the registers: four of a
// thread side by side, then those of the next thread. So one instruction of a warp adds to 512
// bytes in a row, instead of every second float of eight rows, and there is one for four. The last
// kernel, which rounds dQ, puts its elements in order. What is still wrong: the block meets twice a
// step, and a warp that multiplies also has to issue loads.
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
#include "common/kit/ptx/tma.cuh"
#include "common/kit/ptx/wgmma.cuh"

namespace backward {

template <class Tile>
struct WideShared {
  alignas(1024) unsigned char k[Tile::kKeyBytes];
  alignas(1024) unsigned char v[Tile::kKeyBytes];
  alignas(1024) unsigned char ds[Tile::kDsBytes];
  QueryRing<Tile, 2> q, d_o;
  KeyBarrier keys_full;
};

template <class Tile>
__global__ void __launch_bounds__(Tile::kThreads, 1)
    wide_atomics_kernel(const __grid_constant__ GradientMaps maps,
                        Arguments<typename Tile::Element> args) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  const auto& shape = args.shape;
  using T = typename Tile::Element;
  constexpr int kD = Tile::kD, kTileM = Tile::kTileM;
  extern __shared__ unsigned char dynamic_shared[];
  auto& shared = kit::aligned_shared<WideShared<Tile>>(dynamic_shared);
  const Warpgroup<Tile> own{};
  const TileRange<Tile> steps(shape);
  const int key = steps.first_key + own.first_key() + own.row(), count = steps.count();
  auto at = shared.q.begin();
  const auto send = [&](const auto& to, int step) {
    const std::int64_t head = steps.head(step);
    const int first_row = steps.first_row(step);
    shared.q.send(to, maps.q, args.rows.lse2, args.rows.pitch, head, first_row);
    shared.d_o.send(to, maps.d_o, args.rows.delta, args.rows.pitch, head, first_row);
  };

  // The block's keys and values come with the first step, and stay.
  if (threadIdx.x == 0) {
    shared.keys_full.init();
    shared.q.init();
    shared.d_o.init();
    ptx::fence_mbarrier_init();
    shared.keys_full.send(shared.k, shared.v, maps, steps);
    if (count > 0) send(at, 0);
  }
  __syncthreads();  // barriers stand
  shared.keys_full.wait();
  float dk[Tile::kCols / 2] = {}, dv[Tile::kCols / 2] = {};
  for (int step = 0; step < count; ++step) {
    const int first_row = steps.first_row(step);
    __syncthreads();  // nobody reads the other stage or dS any more
    auto next = at;
    next.next();
    if (threadIdx.x == 0 && step + 1 < count) send(next, step + 1);

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

    // dS of all keys must lie in shared memory before anybody multiplies it with K.
    own.store_ds(shared.ds, ds);
    own.issue_gradient(dv, p, shared.d_o.tile[at.stage]);
    own.issue_gradient(dk, ds, shared.q.tile[at.stage]);
    ptx::fence_proxy_async();
    __syncthreads();
    float dq[Tile::kDqCols / 2];
    own.issue_dq(dq, shared.ds, shared.k);
    ptx::wgmma_wait_group<0>();
    ptx::fence_registers(dv);
    ptx::fence_registers(dk);
    ptx::fence_registers(dq);

    DqAccum<Tile>::add(DqAccum<Tile>::of(args.rows, steps.head(step), first_row, own.index()), dq);
    at = next;
  }

  // The block's rows of dK and dV are complete.
  const std::int64_t keys_at = steps.kv_head * shape.n_k * kD;
  own.store(args.dk + keys_at, dk, key, shape.n_k, shape.scale());
  own.store(args.dv + keys_at, dv, key, shape.n_k, 1);
#endif
}

// Device pointers, aligned to 16 bytes. scratch: row_stats_and_dq_scratch(shape) floats.
template <class T, int kD>
void wide_atomics(const Shape& shape, const Tensors<T>& t, float* scratch, cudaStream_t stream) {
  using Tile = GradientTile<T, kD>;
  constexpr int kShared = kit::aligned_shared_bytes<WideShared<Tile>>();
  const auto kernel = wide_atomics_kernel<Tile>;
  kit::allow_shared(kernel, kShared);
  const Arguments<T> args = prepare(shape, t, scratch, true, stream);
  const auto blocks = shape.all_kv_heads() * TileRange<Tile>::key_tiles(shape);
  kernel<<<static_cast<unsigned>(blocks), Tile::kThreads, kShared, stream>>>(
      tensor_maps<Tile>(args), args);
  CUDA_CHECK(cudaGetLastError());
  finish_dq_parts<Tile>(args, stream);
}

}  // namespace backward
