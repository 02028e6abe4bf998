// Rung 6, tma: a producer has TMA bring the tiles (warp specialization, sm_90a).
//
// One thread issues one instruction for each tile, and computes no addresses; mbarriers in shared
// memory say which stages are full and which are empty, so nobody waits for all others any more.
// setmaxnreg gives the registers of the producer's warpgroup to the eight warps that multiply, as
// before. What is still wrong: mma.sync needs its operands in registers, and much of what a warp
// issues is ldmatrix.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "07_flash_attention/attention_16bit/kit/accumulators.cuh"
#include "07_flash_attention/attention_16bit/kit/kv_pipeline.cuh"
#include "07_flash_attention/attention_16bit/kit/mma_tile.cuh"
#include "07_flash_attention/attention_16bit/kit/tensor_maps.cuh"
#include "07_flash_attention/head_dim.cuh"
#include "07_flash_attention/shape.hpp"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/ptx/mma.cuh"
#include "common/kit/ptx/roles.cuh"
#include "common/kit/ptx/tma.cuh"

namespace attention {

// A warpgroup for the producer, and eight warps that multiply, with as many queries each as before.
template <class Element_, int kD_>
struct TmaTile {
  using Element = Element_;
  static constexpr int kD = kD_, kTileN = kD == 64 ? 64 : 32, kStages = 4;
  static constexpr int kConsumerWarps = 8, kThreads = 128 + 32 * kConsumerWarps;
  static constexpr int kWarpRows = MmaTile<kD>::kWarpRows, kRowGroups = kWarpRows / 16;
  static constexpr int kTileM = kWarpRows * kConsumerWarps;
  // The 65536 registers of an SM, as setmaxnreg deals them out: the producer needs few.
  static constexpr int kProducerRegisters = 24, kConsumerRegisters = 240;
  static constexpr int kQBytes = kTileM * kD * 2, kKvBytes = kTileN * kD * 2;
};

template <class T, class Tile, bool kCausal>
__global__ void __launch_bounds__(Tile::kThreads, 1)
    attention_tma_kernel(const __grid_constant__ TensorMaps maps, Tensors<T> t, int n_q, int n_k,
                         float scale) {
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
      kv.issue(maps, k_at, v_at, head, tiles);
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
    constexpr int kSteps = kD / 16 * (kTileN / 16);  // of 16 keys and 16 columns, in both products
    const unsigned char* const k_here = kv.k[k_at.stage];
    const unsigned char* const v_here = kv.v[v_at.stage];
    // The tile of K is here; it may be there for other warps alone.
    kv.wait_k(k_at);
    if constexpr (decltype(masked)::value) {
      if (mask.hides(tile, first_row + Tile::kWarpRows - 1)) {  // hand both tiles back unread
        __syncwarp();  // one lane releases for all: nobody waits any more
        kv.release_k(k_at);
        kv.wait_v(v_at);
        __syncwarp();
        kv.release_v(v_at);
        return;
      }
    }

    // S = Q K^T: step i has columns 16 (i / kRun) of Q and K, and keys 16 (i % kRun). Rows 16 apart
    // are swizzled alike: a lane computes where its chunk lies once for all of them.
    constexpr int kRun = kTileN / 16;
    float s[kGroups][kTileN / 2] = {};
    std::uint32_t q[2][kGroups][4], k[2][4];
    const auto fetch_q_and_k = [&](int i) {
      const int c = i / kRun, j = i % kRun;
      const int query = warp * Tile::kWarpRows + lane % 16, key = lane / 16 * 8 + lane % 8;
#pragma unroll
      for (int g = 0; g < kGroups && j == 0; ++g) {
        const int at = slab_offset(query, 2 * c + lane / 16, Tile::kTileM * 128);
        ptx::ldmatrix_x4(q[c % 2][g], shared.q + at + 16 * g * 128);
      }
      const int at = slab_offset(key, 2 * c + lane / 8 % 2, kTileN * 128);
      ptx::ldmatrix_x4(k[i % 2], k_here + at + 16 * j * 128);
    };
    fetch_q_and_k(0);
#pragma unroll
    for (int i = 0; i < kSteps; ++i) {
      if (i + 1 < kSteps) fetch_q_and_k(i + 1);
      const int c = i / kRun, j = i % kRun;
#pragma unroll
      for (int g = 0; g < kGroups; ++g) {
        ptx::mma_m16n8k16<T>(ptx::four(&s[g][8 * j]), q[c % 2][g], k[i % 2][0], k[i % 2][1]);
        ptx::mma_m16n8k16<T>(ptx::four(&s[g][8 * j + 4]), q[c % 2][g], k[i % 2][2], k[i % 2][3]);
      }
    }
    ptx::fence_proxy_async();  // TMA, another proxy, writes to the stage next
    __syncwarp();              // all lanes have read
    kv.release_k(k_at);

    // The weights. What was accumulated is corrected only if a row's maximum has grown too far.
    std::uint32_t p[kGroups][kTileN / 16][4];
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      if constexpr (decltype(masked)::value) mask.apply(s[g], first_row + 16 * g + lane / 4, tile);
      float tile_max[2];
      OnlineSoftmax::max_of_rows(s[g], tile_max);
      if (rows[g].update_max_if_grown(tile_max)) rows[g].rescale(o[g]);
      rows[g].exponentiate(s[g]);
      rows[g].template pack<T>(s[g], p[g]);
    }

    // O += P V: step i has keys 16 (i / (kD / 16)) and columns 16 (i % (kD / 16)).
    std::uint32_t v[2][4];
    const auto fetch_v = [&](int i) {
      const int j = i / (kD / 16), c = i % (kD / 16);
      const int at = slab_offset(lane % 16, 2 * c + lane / 16, kTileN * 128);
      ptx::ldmatrix_x4_trans(v[i % 2], v_here + at + 16 * j * 128);
    };
    kv.wait_v(v_at);
    fetch_v(0);
#pragma unroll
    for (int i = 0; i < kSteps; ++i) {
      if (i + 1 < kSteps) fetch_v(i + 1);
      const int j = i / (kD / 16), c = i % (kD / 16);
#pragma unroll
      for (int g = 0; g < kGroups; ++g) {
        ptx::mma_m16n8k16<T>(ptx::four(&o[g][8 * c]), p[g][j], v[i % 2][0], v[i % 2][1]);
        ptx::mma_m16n8k16<T>(ptx::four(&o[g][8 * c + 4]), p[g][j], v[i % 2][2], v[i % 2][3]);
      }
    }
    ptx::fence_proxy_async();
    __syncwarp();  // all lanes have read
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
    OnlineSoftmax::scale_rows(o[g], factor);
    store_rows<kD>(t, head, first_row + 16 * g + lane / 4, n_q, o[g], lse);
  }
#endif
}

// Device pointers, aligned to 16 bytes; shapes as Shape says.
template <class T>
void tma(const Shape& shape, const Tensors<T>& t, cudaStream_t stream) {
  const int n_q = static_cast<int>(shape.n_q), n_k = static_cast<int>(shape.n_k);
  with_head_dim(shape.d, shape.causal, [&](auto head_dim, auto causal) {
    using Tile = TmaTile<T, head_dim>;
    constexpr int kShared = kit::aligned_shared_bytes<BlockShared<Tile>>();
    const auto kernel = attention_tma_kernel<T, Tile, causal>;
    const int blocks = static_cast<int>(shape.all_heads()) * kit::divide_up(n_q, Tile::kTileM);
    kit::allow_shared(kernel, kShared);
    kernel<<<blocks, Tile::kThreads, kShared, stream>>>(tensor_maps<Tile>(shape, t), t, n_q, n_k,
                                                        shape.scale() * kLog2E);
    CUDA_CHECK(cudaGetLastError());
  });
}

}  // namespace attention
