// What the rungs on Hopper share: the tiles, how TMA brings them, how the producer transposes those
// of V, and the two products of a warpgroup.
//
// A row of 128 elements is 128 bytes, so every tile is one slab of 128 rows, swizzled as TMA and
// wgmma both understand it.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/attention_fp8/tensors.cuh"
#include "07_flash_attention/shape.hpp"
#include "common/kit/pipeline.cuh"
#include "common/kit/ptx/mma.cuh"
#include "common/kit/ptx/roles.cuh"
#include "common/kit/ptx/tma.cuh"
#include "common/kit/ptx/wgmma.cuh"
#include "common/kit/tensor_map.cuh"

namespace attention::fp8 {

// One producer warpgroup, and two that compute, with 64 queries each.
constexpr int kConsumers = 2, kTileM = 64 * kConsumers, kTileN = 128, kStages = 2;
constexpr int kThreads = 128 * (1 + kConsumers);
constexpr int kTileBytes = 128 * kHeadDim;
constexpr int kProducerRegisters = 24, kConsumerRegisters = 240;
// The largest weight is 2^kPeak: the range of E4M3 ends at 448, and begins at 2^-9.
constexpr float kPeak = 8;

// Q, K and V as TMA sees them: [heads, n, 128] bytes. Rows past the end of a head arrive as zeros.
struct Maps {
  CUtensorMap q, k, v;
};
inline Maps tensor_maps(const Shape& shape, const Tensors8& t) {
  const auto map = [&](const E4m3* x, std::int64_t n) {
    const auto rows = static_cast<std::uint64_t>(n);
    return kit::tensor_map(reinterpret_cast<const unsigned char*>(x),
                           {kHeadDim, rows, static_cast<std::uint64_t>(shape.all_heads())},
                           {kHeadDim, rows * kHeadDim}, {kHeadDim, 128, 1});
  };
  return {map(t.q, shape.n_q), map(t.k, shape.n_k), map(t.v, shape.n_k)};
}

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// region transpose
// A warp's share of a tile of V, 32 keys with all their columns, to the transposed tile: a row of
// it is a column of V. Every four keys that are neighbours there are those whose weights a thread
// has as neighbours: position 4 t + 2 b + e, of 16, holds key 8 b + 2 t + e.
__device__ __forceinline__ void transpose_values(unsigned char* to, const unsigned char* from) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, matrix = lane / 8, i = lane % 8;
  const int key = 32 * warp + lane;  // whose row this lane names
  // Of 16 columns, the eight even ones leave in one matrix and the odd ones in another; half of
  // them change places, so that the rows of a matrix lie in eight different groups of banks.
  const int column = 2 * i + (i / 4 ^ matrix % 2);
  to += ptx::swizzled_128B(column, 2 * warp + matrix / 2);
  const std::uint32_t first = lane < 16 ? 0x6420 : 0x7531, second = first ^ 0x1111;
#pragma unroll 1
  for (int c = 0; c < kHeadDim / 16; ++c) {
    // As pairs of columns: r[m] has those of keys 8 m + 2 t and 8 m + 2 t + 1.
    std::uint32_t r[4];
    ptx::ldmatrix_x4_trans(r, from + ptx::swizzled_128B(key, c));
    ptx::stmatrix_x4(to + c * 16 * 128, __byte_perm(r[0], r[1], first),
                     __byte_perm(r[0], r[1], second), __byte_perm(r[2], r[3], first),
                     __byte_perm(r[2], r[3], second));
  }
}
// endregion

// Issues s = Q K^T for a warpgroup's 64 queries as one group. s must not be in use; it holds the
// scores only after the group has been waited for.
__device__ __forceinline__ void issue_scores(float (&s)[kTileN / 2], const unsigned char* q,
                                             const unsigned char* k) {
  const std::uint64_t q_tile = ptx::descriptor_128B(q, 0, 1024);
  const std::uint64_t k_tile = ptx::descriptor_128B(k, 0, 1024);
  ptx::fence_registers(s);
  ptx::wgmma_fence();
#pragma unroll
  for (int c = 0; c < kHeadDim / 32; ++c) {
    ptx::wgmma_e4m3(s, ptx::advance(q_tile, 32 * c), ptx::advance(k_tile, 32 * c), c > 0);
  }
  ptx::wgmma_commit_group();
}

// Issues o += P V (o = P V unless `accumulate`) as one group: P from registers, V transposed.
__device__ __forceinline__ void issue_output(float (&o)[kHeadDim / 2],
                                             std::uint32_t (&p)[kTileN / 32][4],
                                             const unsigned char* v, bool accumulate) {
  const std::uint64_t v_tile = ptx::descriptor_128B(v, 0, 1024);
  ptx::fence_registers(o);
  ptx::wgmma_fence();
#pragma unroll
  for (int j = 0; j < kTileN / 32; ++j) {
    ptx::wgmma_e4m3(o, p[j], ptx::advance(v_tile, 32 * j), j > 0 || accumulate);
  }
  ptx::wgmma_commit_group();
}

// region pack
// The weights rounded to E4M3, as operand A: registers 0 and 1 of a row's 32 keys hold what this
// thread has of the first 16 of them, in its own order.
__device__ __forceinline__ void pack(const float (&s)[kTileN / 2],
                                     std::uint32_t (&p)[kTileN / 32][4]) {
#pragma unroll
  for (int i = 0; i < kTileN / 2; i += 8) {
    for (int row = 0; row < 2; ++row) {
      const int at = i + 2 * row;
      p[i / 16][i / 8 % 2 * 2 + row] = ptx::pack_e4m3(s[at], s[at + 1], s[at + 4], s[at + 5]);
    }
  }
}
// endregion
#endif

// All that a block keeps in shared memory. A stage of a ring is full when TMA has delivered all
// bytes, or all warps of the producer have transposed theirs; it is empty when every warp that
// reads it has released it.
struct BlockShared8 {
  using State = kit::PipelineState<kStages>;

  unsigned char q[kTileBytes];
  unsigned char k[kStages][kTileBytes], loaded_v[kStages][kTileBytes], v[kStages][kTileBytes];
  std::uint64_t q_full, k_full[kStages], k_empty[kStages], loaded_full[kStages],
      loaded_empty[kStages], v_full[kStages], v_empty[kStages];

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  // By one thread, before a barrier of the block.
  __device__ __forceinline__ void init() {
    ptx::mbarrier_init(&q_full, 1);
    kit::init_stages(k_full, k_empty, 4 * kConsumers);
    kit::init_stages(loaded_full, loaded_empty, 4);
    for (int s = 0; s < kStages; ++s) {
      ptx::mbarrier_init(&v_full[s], 4);
      ptx::mbarrier_init(&v_empty[s], 4 * kConsumers);
    }
    ptx::fence_mbarrier_init();
  }

  // region produce
  // The producer's part, by all its warps: the first `tiles` tiles of keys and values of a head,
  // the last one first. One thread has TMA load a tile while all transpose the one before.
  __device__ __forceinline__ void produce(const Maps& maps, int first_query, int head, int tiles) {
    State loading, transposing;
    const auto load = [&](int tile) {
      kit::wait_empty(k_empty, loading);
      ptx::mbarrier_arrive_expect_tx(&k_full[loading.stage], kTileBytes);
      ptx::tensor_load(k[loading.stage], &maps.k, 0, tile * kTileN, head, &k_full[loading.stage]);
      kit::wait_empty(loaded_empty, loading);
      ptx::fence_proxy_async();  // threads have read what TMA, another proxy, overwrites
      ptx::mbarrier_arrive_expect_tx(&loaded_full[loading.stage], kTileBytes);
      ptx::tensor_load(loaded_v[loading.stage], &maps.v, 0, tile * kTileN, head,
                       &loaded_full[loading.stage]);
      loading.next();
    };
    if (threadIdx.x == 0) {
      ptx::mbarrier_arrive_expect_tx(&q_full, kTileBytes);
      ptx::tensor_load(q, &maps.q, 0, first_query, head, &q_full);
      if (tiles > 0) load(tiles - 1);
    }
    for (int tile = tiles - 1; tile >= 0; --tile, transposing.next()) {
      if (threadIdx.x == 0 && tile > 0) load(tile - 1);
      __syncwarp();
      kit::wait_full(loaded_full, transposing);
      kit::wait_empty(v_empty, transposing);
      transpose_values(v[transposing.stage], loaded_v[transposing.stage]);
      ptx::fence_proxy_async();  // wgmma, another proxy, reads it
      __syncwarp();
      kit::release(&loaded_empty[transposing.stage]);
      kit::release(&v_full[transposing.stage]);
    }
  }
  // endregion

  // The consumers': a tile is here; a warp has no more use for it.
  __device__ __forceinline__ void wait_q() { kit::wait(&q_full, 0); }
  __device__ __forceinline__ void wait_k(const State& at) { kit::wait_full(k_full, at); }
  __device__ __forceinline__ void wait_v(const State& at) { kit::wait_full(v_full, at); }
  __device__ __forceinline__ void release_k(State& at) {
    kit::release(&k_empty[at.stage]);
    at.next();
  }
  __device__ __forceinline__ void release_v(State& at) {
    kit::release(&v_empty[at.stage]);
    at.next();
  }
#endif
};

}  // namespace attention::fp8
