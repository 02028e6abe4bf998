// through_shared: tensor cores (mma.sync, sm_80) do both products; Q, K, V and O are bf16
// or fp16.
//
// The loops of q_outer. A warp has 16 queries, and accumulators of 16 x 8 scores are spread over
// its lanes. Operands come from shared memory by ldmatrix, the weights among them: as in q_outer
// they are written there first. What is still wrong: weights go out and come back within one warp.
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

// Four warps; where d is 256, fewer keys leave room for a second block.
template <int kD>
struct SmallTile {
  static constexpr int kThreads = 128, kTileM = 64, kTileN = kD == 256 ? 32 : 64;
  static constexpr int kSharedBytes = 2 * ((kTileM + 2 * kTileN) * kD + kTileM * kTileN);
};

template <class T, int kD, bool kCausal>
__global__ void __launch_bounds__(SmallTile<kD>::kThreads)
    attention_through_shared_kernel(Tensors<T> t, int n_q, int n_k, float scale) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  // Shared memory: a tile of Q, of K and of V, and the weights of these queries and keys.
  using Tile = SmallTile<kD>;
  constexpr int kTileN = Tile::kTileN, kChunks = kD / 8, kWeightChunks = kTileN / 8;
  constexpr int kThreads = Tile::kThreads;
  extern __shared__ uint4 chunks[];
  uint4* const tile_q = chunks;
  uint4* const tile_k = tile_q + Tile::kTileM * kChunks;
  uint4* const tile_v = tile_k + kTileN * kChunks;
  uint4* const tile_p = tile_v + kTileN * kChunks;

  // The last tiles of a causal head have the most to do: they start first.
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int tiles = kit::divide_up(n_q, Tile::kTileM);
  const int head = blockIdx.x / tiles;
  const int first_query = (tiles - 1 - static_cast<int>(blockIdx.x) % tiles) * Tile::kTileM;
  const int first_row = first_query + warp * 16;
  const Mask<kCausal, kTileN> mask{n_q, n_k};

  // A warp's own rows of Q and of the weights.
  uint4* const own_q = tile_q + warp * 16 * kChunks;
  uint4* const own_p = tile_p + warp * 16 * kWeightChunks;

  // Rounds the warp's accumulators x and writes them to a tile of its own, row by row.
  const auto put = [&](uint4* tile, int row_chunks, const auto& x) {
    constexpr int kCount = sizeof x / sizeof x[0];
#pragma unroll
    for (int i = 0; i < kCount; i += 2) {
      uint4* const row = tile + (lane / 4 + i / 2 % 2 * 8) * row_chunks;
      reinterpret_cast<std::uint32_t*>(row + i / 4)[lane % 4] = ptx::pack<T>(x[i], x[i + 1]);
    }
    __syncwarp();  // other lanes read what this one wrote
  };

  // Registers: O stays, scores are those of a tile of keys.
  OnlineSoftmax rows{scale};
  float o[kD / 2] = {};

  // region multiply_tile
  const auto multiply_tile = [&](int tile, auto masked) {
    __syncthreads();  // nobody reads the tiles before any more
    load_plain_tile<kD, kTileN, kThreads>(tile_k, t.k, head, tile * kTileN, n_k);
    load_plain_tile<kD, kTileN, kThreads>(tile_v, t.v, head, tile * kTileN, n_k);
    __syncthreads();
    // A warp whose queries see nothing of the tile is done with it.
    if constexpr (decltype(masked)::value) {
      if (mask.hides(tile, first_row + 15)) return;
    }

    // S = Q K^T, 16 columns of Q and K and 16 keys at a time.
    float s[kTileN / 2] = {};
#pragma unroll
    for (int c = 0; c < kD / 16; ++c) {
      std::uint32_t q[4], k[4];
      ptx::ldmatrix_x4(q, &own_q[lane % 16 * kChunks + 2 * c + lane / 16]);
#pragma unroll
      for (int j = 0; j < kTileN / 16; ++j) {
        const int key = 16 * j + lane / 16 * 8 + lane % 8;
        ptx::ldmatrix_x4(k, &tile_k[key * kChunks + 2 * c + lane / 8 % 2]);
        ptx::mma_m16n8k16<T>(ptx::four(&s[8 * j]), q, k[0], k[1]);
        ptx::mma_m16n8k16<T>(ptx::four(&s[8 * j + 4]), q, k[2], k[3]);
      }
    }

    // The weights; what was accumulated is brought to their scale.
    if constexpr (decltype(masked)::value) mask.apply(s, first_row + lane / 4, tile);
    float tile_max[2];
    OnlineSoftmax::max_of_rows(s, tile_max);
    rows.update_max(tile_max);
    OnlineSoftmax::rescale(o, rows.correction);
    rows.exponentiate(s);
    put(own_p, kWeightChunks, s);

    // O += P V, 16 keys and 16 columns of V at a time.
#pragma unroll
    for (int j = 0; j < kTileN / 16; ++j) {
      std::uint32_t p[4], v[4];
      ptx::ldmatrix_x4(p, &own_p[lane % 16 * kWeightChunks + 2 * j + lane / 16]);
#pragma unroll
      for (int c = 0; c < kD / 16; ++c) {
        ptx::ldmatrix_x4_trans(v, &tile_v[(16 * j + lane % 16) * kChunks + 2 * c + lane / 16]);
        ptx::mma_m16n8k16<T>(ptx::four(&o[8 * c]), p, v[0], v[1]);
        ptx::mma_m16n8k16<T>(ptx::four(&o[8 * c + 4]), p, v[2], v[3]);
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

  // O leaves the same way, through the room of Q, and by whole rows.
  float factor[2], lse[2];
  rows.finish(factor, lse);
  OnlineSoftmax::rescale(o, factor);
  store_lse(t, head, first_row + lane / 4, n_q, lse);
  __syncthreads();  // if there was no tile, Q may only be arriving now
  put(own_q, kChunks, o);
  const std::int64_t at = static_cast<std::int64_t>(head) * n_q + first_row;
  const int chunks_inside = min(16, n_q - first_row) * kChunks;
  for (int i = lane; i < chunks_inside; i += 32) {
    reinterpret_cast<uint4*>(t.o + at * kD)[i] = own_q[i];
  }
#endif
}

// Device pointers, aligned to 16 bytes; shapes as Shape says.
template <class T>
void through_shared(const Shape& shape, const Tensors<T>& t, cudaStream_t stream) {
  const int n_q = static_cast<int>(shape.n_q), n_k = static_cast<int>(shape.n_k);
  with_head_dim(shape.d, shape.causal, [&](auto head_dim, auto causal) {
    using Tile = SmallTile<decltype(head_dim)::value>;
    const auto kernel = attention_through_shared_kernel<T, head_dim, causal>;
    const int blocks = static_cast<int>(shape.all_heads()) * kit::divide_up(n_q, Tile::kTileM);
    kit::allow_shared(kernel, Tile::kSharedBytes);
    kernel<<<blocks, Tile::kThreads, Tile::kSharedBytes, stream>>>(t, n_q, n_k,
                                                                   shape.scale() * kLog2E);
    CUDA_CHECK(cudaGetLastError());
  });
}

}  // namespace attention
