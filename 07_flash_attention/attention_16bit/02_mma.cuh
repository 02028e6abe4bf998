// mma: weights stay in registers, where the scores were; a warp has 32 queries.
//
// The accumulator of Q K^T lies over the lanes just as operand A of P V wants it: each lane rounds
// its own weights to 16 bits, and nothing moves. O goes from registers to global memory. With 32
// queries, 16 where d is 256, a key that a warp has fetched serves twice. What is still wrong:
// ldmatrix reads eight rows at once, and they all begin in the same bank.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "07_flash_attention/kit/accumulators.cuh"
#include "07_flash_attention/kit/mma_attention_tile.cuh"
#include "07_flash_attention/shape.hpp"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/ptx/mma.cuh"

namespace attention {

template <class T, int kD, bool kCausal>
__global__ void __launch_bounds__(MmaAttentionTile<kD>::kThreads, MmaAttentionTile<kD>::kBlocks)
    attention_mma_kernel(Tensors<T> t, int n_q, int n_k, float scale) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  // Shared memory: a tile of Q, and what there is of K and V.
  using Tile = MmaAttentionTile<kD>;
  constexpr int kTileN = Tile::kTileN, kChunks = Tile::kChunks, kGroups = Tile::kRowGroups;
  constexpr int kThreads = Tile::kThreads;
  extern __shared__ uint4 chunks[];
  uint4* const tile_q = chunks;
  uint4* const tile_k = tile_q + Tile::kTileM * kChunks;
  uint4* const tile_v = tile_k + kTileN * kChunks;

  // The last tiles of a causal head have the most to do: they start first.
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int tiles = kit::divide_up(n_q, Tile::kTileM);
  const int head = blockIdx.x / tiles;
  const int first_query = (tiles - 1 - static_cast<int>(blockIdx.x) % tiles) * Tile::kTileM;
  const int first_row = first_query + warp * Tile::kWarpRows;
  const Mask<kCausal, kTileN> mask{n_q, n_k};

  // Registers: O stays, scores and weights are those of a tile of keys.
  OnlineSoftmax rows[kGroups];
  float o[kGroups][kD / 2] = {};
#pragma unroll
  for (int g = 0; g < kGroups; ++g) rows[g].scale = scale;

  // region multiply_tile
  const auto multiply_tile = [&](int tile, auto masked) {
    __syncthreads();  // nobody reads the tiles before any more
    load_plain_tile<kD, kTileN, kThreads>(tile_k, t.k, head, tile * kTileN, n_k);
    load_plain_tile<kD, kTileN, kThreads>(tile_v, t.v, head, tile * kTileN, n_k);
    __syncthreads();
    // A warp whose queries see nothing of the tile is done with it.
    if constexpr (decltype(masked)::value) {
      if (mask.hides(tile, first_row + Tile::kWarpRows - 1)) return;
    }

    // S = Q K^T, 16 columns of Q and K and 16 keys at a time.
    float s[kGroups][kTileN / 2] = {};
#pragma unroll
    for (int c = 0; c < kD / 16; ++c) {
      std::uint32_t q[kGroups][4], k[4];
#pragma unroll
      for (int g = 0; g < kGroups; ++g) {
        const int query = warp * Tile::kWarpRows + 16 * g + lane % 16;
        ptx::ldmatrix_x4(q[g], &tile_q[query * kChunks + 2 * c + lane / 16]);
      }
#pragma unroll
      for (int j = 0; j < kTileN / 16; ++j) {
        const int key = 16 * j + lane / 16 * 8 + lane % 8;
        ptx::ldmatrix_x4(k, &tile_k[key * kChunks + 2 * c + lane / 8 % 2]);
#pragma unroll
        for (int g = 0; g < kGroups; ++g) {
          ptx::mma_m16n8k16<T>(ptx::four(&s[g][8 * j]), q[g], k[0], k[1]);
          ptx::mma_m16n8k16<T>(ptx::four(&s[g][8 * j + 4]), q[g], k[2], k[3]);
        }
      }
    }

    // The weights; what was accumulated is brought to their scale.
    std::uint32_t p[kGroups][kTileN / 16][4];
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      if constexpr (decltype(masked)::value) mask.apply(s[g], first_row + 16 * g + lane / 4, tile);
      float tile_max[2];
      OnlineSoftmax::max_of_rows(s[g], tile_max);
      rows[g].update_max(tile_max);
      OnlineSoftmax::rescale(o[g], rows[g].correction);
      rows[g].exponentiate(s[g]);
      rows[g].template pack<T>(s[g], p[g]);
    }

    // O += P V, 16 keys and 16 columns of V at a time.
#pragma unroll
    for (int j = 0; j < kTileN / 16; ++j) {
#pragma unroll
      for (int c = 0; c < kD / 16; ++c) {
        std::uint32_t v[4];
        ptx::ldmatrix_x4_trans(v, &tile_v[(16 * j + lane % 16) * kChunks + 2 * c + lane / 16]);
#pragma unroll
        for (int g = 0; g < kGroups; ++g) {
          ptx::mma_m16n8k16<T>(ptx::four(&o[g][8 * c]), p[g][j], v[0], v[1]);
          ptx::mma_m16n8k16<T>(ptx::four(&o[g][8 * c + 4]), p[g][j], v[2], v[3]);
        }
      }
    }
  };
  // endregion

  // Backwards: the tiles that need a mask come first.
  load_plain_tile<kD, Tile::kTileM, kThreads>(tile_q, t.q, head, first_query, n_q);
  int tile = mask.tiles(first_query, Tile::kTileM) - 1;
  const int unmasked = mask.unmasked_tiles(first_query);
  for (; tile >= unmasked; --tile) multiply_tile(tile, std::true_type{});
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
void mma(const Shape& shape, const Tensors<T>& t, cudaStream_t stream) {
  const int n_q = static_cast<int>(shape.n_q), n_k = static_cast<int>(shape.n_k);
  with_head_dim(shape.d, shape.causal, [&](auto head_dim, auto causal) {
    using Tile = MmaAttentionTile<decltype(head_dim)::value>;
    constexpr int kShared = Tile::shared_bytes(1);
    const auto kernel = attention_mma_kernel<T, head_dim, causal>;
    const int blocks = static_cast<int>(shape.all_heads()) * kit::divide_up(n_q, Tile::kTileM);
    kit::allow_shared(kernel, kShared);
    kernel<<<blocks, Tile::kThreads, kShared, stream>>>(t, n_q, n_k, shape.scale() * kLog2E);
    CUDA_CHECK(cudaGetLastError());
  });
}

}  // namespace attention
