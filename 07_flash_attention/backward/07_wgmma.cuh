// Rung 7, wgmma: Hopper's tensor cores read their operands from shared memory (sm_90a).
//
// The loops of rung 6 with two warpgroups of 64 keys each. S^T = K Q^T and dP^T = V dO^T take both
// operands from shared memory; P^T and dS^T are operand A from registers, as before. For dQ = dS K
// stmatrix lays dS^T down with a key a row; wgmma takes such a tile as it lies, so nothing is
// transposed. No operand passes through registers twice: ldmatrix is gone. What is still wrong: all
// warps load, wait and multiply in step, and so the tensor cores wait, too.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/backward/kit/hopper_tile.cuh"
#include "07_flash_attention/backward/kit/pairs.cuh"
#include "07_flash_attention/backward/kit/row_facts.cuh"
#include "07_flash_attention/backward/shape.hpp"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/ptx/mma.cuh"
#include "common/kit/ptx/tma.cuh"
#include "common/kit/ptx/wgmma.cuh"
#include "common/kit/swizzle.cuh"

namespace backward {

constexpr int kWgmmaThreads = 256;

// Two buffers for what belongs to a step.
template <class Tile>
struct WgmmaShared {
  unsigned char k[Tile::kKeyBytes], v[Tile::kKeyBytes];
  unsigned char q[2][Tile::kQueryBytes], d_o[2][Tile::kQueryBytes];
  unsigned char ds[Tile::kDsBytes];
  float lse2[2][Tile::kQueries], mean[2][Tile::kQueries];
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// Issues the copy of kRows rows from row `first` of a head with n rows; zeros after the last.
template <int kD, int kRows, class T>
__device__ void copy_slabs(unsigned char* tile, const T* head, int first, int n) {
  const auto* from = reinterpret_cast<const uint4*>(head) + std::int64_t{first} * (kD / 8);
#pragma unroll
  for (int i = threadIdx.x; i < kRows * kD / 8; i += kWgmmaThreads) {
    const int row = i / (kD / 8), chunk = i % (kD / 8);
    unsigned char* slab = tile + chunk / 8 * kRows * 128;
    ptx::cp_async_16(slab + kit::swizzled_128B(row, chunk % 8), from + i, first + row < n);
  }
}
#endif

template <class Tile>
__global__ void __launch_bounds__(kWgmmaThreads, 1)
    wgmma_kernel(Arguments<typename Tile::Element> args) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  const auto& shape = args.shape;
  using T = typename Tile::Element;
  constexpr int kD = Tile::kD, kKeys = Tile::kKeys, kQueries = Tile::kQueries;
  extern __shared__ unsigned char dynamic_shared[];
  auto& shared = kit::aligned_shared<WgmmaShared<Tile>>(dynamic_shared);
  const Warpgroup<Tile> own{};
  const int key_tiles = Steps<Tile>::key_tiles(shape), key_tile = blockIdx.x % key_tiles;
  const int lane = threadIdx.x % 32;
  const int key = key_tile * kKeys + own.first_key() + threadIdx.x % 128 / 32 * 16 + lane / 4;
  const Steps<Tile> steps(shape, blockIdx.x / key_tiles, key_tile);
  const int count = steps.count();
  const auto issue = [&](int step) {
    const std::int64_t head = steps.head(step);
    const int row = steps.first_row(step), n_q = args.shape.n_q;
    copy_slabs<kD, kQueries>(shared.q[step % 2], args.q + head * n_q * kD, row, n_q);
    copy_slabs<kD, kQueries>(shared.d_o[step % 2], args.d_o + head * n_q * kD, row, n_q);
    copy_facts(shared, args.rows, steps, step);
  };

  // The block's keys and values come with the first step, and stay.
  const std::int64_t keys_at = steps.kv_head * shape.n_k * kD;
  copy_slabs<kD, kKeys>(shared.k, args.k + keys_at, steps.first_key, shape.n_k);
  copy_slabs<kD, kKeys>(shared.v, args.v + keys_at, steps.first_key, shape.n_k);
  if (count > 0) issue(0);
  ptx::cp_async_commit();
  float dk[Tile::kCols / 2] = {}, dv[Tile::kCols / 2] = {};
  for (int step = 0; step < count; ++step) {
    const int b = step % 2, first_row = steps.first_row(step);
    ptx::cp_async_wait<0>();
    ptx::fence_proxy_async();  // wgmma shall see what cp.async wrote
    __syncthreads();  // this step is here, and nobody reads the other buffers or dS any more
    if (step + 1 < count) issue(step + 1);
    ptx::cp_async_commit();

    // Keys are rows, queries columns.
    float s[kQueries / 2], dp[kQueries / 2];
    own.issue_transposed(s, shared.k, shared.q[b]);
    own.issue_transposed(dp, shared.v, shared.d_o[b]);
    ptx::wgmma_wait_group<0>();
    ptx::fence_registers(s);
    ptx::fence_registers(dp);
    // Weights and gradients of scores; rounded, they are operands of the next products.
    weigh(s, shared.lse2[b], shape, steps, first_row, key);
    to_score_gradients(dp, s, shared.mean[b]);
    std::uint32_t p[kQueries / 16][4], ds[kQueries / 16][4];
    to_operand<T>(s, p);
    to_operand<T>(dp, ds);

    // dS of all keys must lie in shared memory before anybody multiplies it with K.
    own.store_ds(shared.ds, ds);
    own.issue_gradient(dv, p, shared.d_o[b]);
    own.issue_gradient(dk, ds, shared.q[b]);
    ptx::fence_proxy_async();
    __syncthreads();
    float dq[Tile::kDqCols / 2];
    own.issue_dq(dq, shared.ds, shared.k);
    ptx::wgmma_wait_group<0>();
    ptx::fence_registers(dv);
    ptx::fence_registers(dk);
    ptx::fence_registers(dq);

    // Registers of dq lie as those of s do, with queries as rows.
    const int row = own.dq_row() + threadIdx.x % 128 / 32 * 16 + lane / 4;
    const std::int64_t at = steps.head(step) * args.rows.pitch + first_row + row;
#pragma unroll
    for (int i = 0; i < Tile::kDqCols / 2; ++i) {
      atomicAdd(&args.rows.dq_sum[(at + 8 * (i / 2 % 2)) * kD + own.dq_col(i)], dq[i]);
    }
  }
  // The block's rows of dK and dV are complete.
  own.store(args.dk + keys_at, dk, key, shape.n_k, shape.scale());
  own.store(args.dv + keys_at, dv, key, shape.n_k, 1);
#endif
}

// Device pointers, aligned to 16 bytes. scratch: row_facts_and_dq_scratch(shape) floats.
template <class T, int kD>
void wgmma(const Shape& shape, const Tensors<T>& t, float* scratch, cudaStream_t stream) {
  using Tile = HopperTile<T, kD>;
  constexpr int kShared = kit::aligned_shared_bytes<WgmmaShared<Tile>>();
  const auto kernel = wgmma_kernel<Tile>;
  kit::allow_shared(kernel, kShared);
  const Arguments<T> args = prepare(shape, t, scratch, true, stream);
  const auto blocks = shape.all_kv_heads() * kit::divide_up(shape.n_k, Tile::kKeys);
  kernel<<<static_cast<unsigned>(blocks), kWgmmaThreads, kShared, stream>>>(args);
  CUDA_CHECK(cudaGetLastError());
  finish_dq(args, stream);
}

}  // namespace backward
