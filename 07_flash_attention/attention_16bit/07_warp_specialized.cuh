// warp_specialized: a producer has TMA bring the tiles, eight warps multiply (sm_90a).
//
// K and V have a ring of stages each. Two mbarriers of a stage say when it is full and when it is
// empty, so nobody waits for all others any more: a warp releases what it has read, and the
// producer fills it again. setmaxnreg gives the registers of the producer's warpgroup to the warps
// that multiply. What is still wrong: mma.sync needs its operands in registers, and much of what a
// warp issues is ldmatrix.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "07_flash_attention/kit/accumulators.cuh"
#include "07_flash_attention/kit/attention_tile.cuh"
#include "07_flash_attention/kit/mma_attention_tile.cuh"
#include "07_flash_attention/shape.hpp"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/ptx/mma.cuh"
#include "common/kit/ptx/roles.cuh"
#include "common/kit/ptx/tma.cuh"

namespace attention {

// A warpgroup for the producer, and eight warps that multiply, with as many queries each as before.
template <class Element_, int kD_>
struct SpecializedTile : MmaAttentionTile<kD_, 8, kD_ == 64 ? 64 : 32> {
  using Element = Element_;
  static constexpr int kConsumerWarps = 8, kThreads = 128 + 32 * kConsumerWarps, kStages = 4;
  // The 65536 registers of an SM, as setmaxnreg deals them out: the producer needs few.
  static constexpr int kProducerRegisters = 24, kConsumerRegisters = 240;
  static constexpr bool kReadByThreads = true;  // by ldmatrix, not by wgmma
};

template <class T, class Tile, bool kCausal>
__global__ void __launch_bounds__(Tile::kThreads, 1)
    attention_warp_specialized_kernel(const __grid_constant__ AttentionMaps maps, Tensors<T> t,
                                      int n_q, int n_k, float scale) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  constexpr int kD = Tile::kD, kTileN = Tile::kTileN, kGroups = Tile::kRowGroups;
  // One thread sets up the barriers, before anybody uses them.
  extern __shared__ unsigned char dynamic_shared[];
  auto& shared = kit::aligned_shared<BlockShared<Tile>>(dynamic_shared);
  auto& kv = shared.kv;
  if (threadIdx.x == 0) shared.init();
  __syncthreads();

  // The last tiles of a causal head have the most to do: they start first.
  const int lane = threadIdx.x % 32, warp = static_cast<int>(threadIdx.x) / 32 - 4;
  const int q_tiles = kit::divide_up(n_q, Tile::kTileM);
  const int head = blockIdx.x / q_tiles;
  const int first_query = (q_tiles - 1 - static_cast<int>(blockIdx.x) % q_tiles) * Tile::kTileM;
  const int first_row = first_query + warp * Tile::kWarpRows;
  const Mask<kCausal, kTileN> mask{n_q, n_k};
  const int tiles = mask.tiles(first_query, Tile::kTileM);
  auto k_at = kv.begin(), v_at = kv.begin();

  // region roles
  // The producer: one thread has TMA bring everything.
  if (warp < 0) {
    ptx::setmaxnreg_dec<Tile::kProducerRegisters>();
    if (threadIdx.x == 0) {
      shared.issue_q(maps, first_query, head);
      kv.issue(maps, k_at, v_at, head, tiles, [] {});
    }
    return;
  }

  // The consumers: the warps that compute, with rows of their own.
  ptx::setmaxnreg_inc<Tile::kConsumerRegisters>();
  // endregion

  // Registers: O stays, scores and weights are those of a tile of keys.
  OnlineSoftmax rows[kGroups];
  float o[kGroups][kD / 2] = {};
#pragma unroll
  for (int g = 0; g < kGroups; ++g) rows[g].scale = scale;

  const auto multiply_tile = [&](int tile, auto masked) {
    const unsigned char* const k_here = kv.k[k_at.stage];
    const unsigned char* const v_here = kv.v[v_at.stage];
    kv.wait_k(k_at);
    // S = Q K^T. Rows 16 apart are swizzled alike: a lane computes where its chunk lies once for
    // all.
    float s[kGroups][kTileN / 2] = {};
    multiply_scores<T, kD>(
        s,
        [&](std::uint32_t(&q)[4], int c, int g) {
          const int query = warp * Tile::kWarpRows + lane % 16;
          const int at = slab_offset(query, 2 * c + lane / 16, Tile::kTileM * 128);
          ptx::ldmatrix_x4(q, shared.q + at + 16 * g * 128);
        },
        [&](std::uint32_t(&k)[4], int c, int j) {
          const int key = lane / 16 * 8 + lane % 8;
          const int at = slab_offset(key, 2 * c + lane / 8 % 2, kTileN * 128);
          ptx::ldmatrix_x4(k, k_here + at + 16 * j * 128);
        });
    __syncwarp();  // all lanes have read
    kv.release_k(k_at);

    // The weights. What was accumulated is corrected only if a row's maximum has grown too far.
    std::uint32_t p[kGroups][kTileN / 16][4];
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      if constexpr (decltype(masked)::value) mask.apply(s[g], first_row + 16 * g + lane / 4, tile);
      float tile_max[2];
      OnlineSoftmax::max_of_rows(s[g], tile_max);
      if (update_max_if_grown(rows[g], tile_max)) OnlineSoftmax::rescale(o[g], rows[g].correction);
      rows[g].exponentiate(s[g]);
      rows[g].template pack<T>(s[g], p[g]);
    }

    // O += P V.
    kv.wait_v(v_at);
    multiply_output<T>(o, p, [&](std::uint32_t(&v)[4], int j, int c) {
      const int at = slab_offset(lane % 16, 2 * c + lane / 16, kTileN * 128);
      ptx::ldmatrix_x4_trans(v, v_here + at + 16 * j * 128);
    });
    __syncwarp();
    kv.release_v(v_at);
  };

  // Backwards: the tiles that need a mask come first.
  shared.wait_q();
  int tile = tiles - 1;
  const int unmasked = mask.unmasked_tiles(first_query);
  for (; tile >= 0 && tile >= unmasked; --tile) multiply_tile(tile, std::true_type{});
  for (; tile >= 0; --tile) multiply_tile(tile, std::false_type{});

#pragma unroll
  for (int g = 0; g < kGroups; ++g) {
    float factor[2], lse[2];
    rows[g].finish(factor, lse);
    OnlineSoftmax::rescale(o[g], factor);
    store_rows<kD>(t, head, first_row + 16 * g + lane / 4, n_q, o[g], lse);
  }
#endif
}

// Device pointers, aligned to 16 bytes; shapes as Shape says.
template <class T>
void warp_specialized(const Shape& shape, const Tensors<T>& t, cudaStream_t stream) {
  const int n_q = static_cast<int>(shape.n_q), n_k = static_cast<int>(shape.n_k);
  with_head_dim(shape.d, shape.causal, [&](auto head_dim, auto causal) {
    using Tile = SpecializedTile<T, head_dim>;
    constexpr int kShared = kit::aligned_shared_bytes<BlockShared<Tile>>();
    const auto kernel = attention_warp_specialized_kernel<T, Tile, causal>;
    const int blocks = static_cast<int>(shape.all_heads()) * kit::divide_up(n_q, Tile::kTileM);
    kit::allow_shared(kernel, kShared);
    kernel<<<blocks, Tile::kThreads, kShared, stream>>>(tensor_maps<Tile>(shape, t), t, n_q, n_k,
                                                        shape.scale() * kLog2E);
    CUDA_CHECK(cudaGetLastError());
  });
}

}  // namespace attention
