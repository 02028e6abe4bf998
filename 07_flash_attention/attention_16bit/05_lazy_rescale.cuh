// lazy_rescale: O is rescaled only when it must be (conditional rescaling).
//
// Any number may be subtracted in the exponent, as long as it is the same for the whole row and
// nothing overflows. So the old row max is kept until a score exceeds it by more than 8, in base 2;
// with random scores, hardly ever after the first tile. And where d is 256, two smaller blocks
// share an SM. It has the instructions of FlashAttention-2, which rescales with every tile. What is
// still wrong: the warps that multiply also load and wait for each other, and mma.sync reaches at
// most two thirds of what Hopper's tensor cores can do.
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
#include "common/kit/swizzle.cuh"

namespace attention {

// Where d is 256, two blocks of four warps on an SM are faster than one of eight: while one waits,
// the other multiplies. For two there is room if K and V have one buffer each (not on an A100,
// where it was not timed): V comes while the scores are computed, and K after them.
template <int kD>
struct LazyTile : MmaAttentionTile<kD> {
  static constexpr int kBuffers = 2;
};
template <>
struct LazyTile<256> : MmaAttentionTile<256, 4, 64> {
  static constexpr int kBuffers = 1;
};

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
// Where a chunk lies, as kit::swizzled_chunk says. Chunks eight apart are a constant away from each
// other, and written like this the compiler knows it: of 16 addresses in a row of d = 256 it keeps
// four in registers. O leaves few of these.
template <int kChunks>
__device__ __forceinline__ int near_chunk(int row, int chunk) {
  return row * kChunks + chunk / 8 * 8 + (chunk % 8 ^ row % 8);
}
#endif

template <class T, int kD, bool kCausal>
__global__ void __launch_bounds__(LazyTile<kD>::kThreads, LazyTile<kD>::kBlocks)
    attention_lazy_rescale_kernel(Tensors<T> t, int n_q, int n_k, float scale) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  // Shared memory: a tile of Q, and what there is of K and V.
  using Tile = LazyTile<kD>;
  constexpr bool kOneBuffer = Tile::kBuffers == 1;
  constexpr int kTileN = Tile::kTileN, kChunks = Tile::kChunks, kGroups = Tile::kRowGroups;
  extern __shared__ uint4 chunks[];  // in chunks of 16 bytes, 8 elements
  uint4* const tile_q = chunks;
  uint4* const tile_k = tile_q + Tile::kTileM * kChunks;
  uint4* const tile_v = tile_k + Tile::kBuffers * kTileN * kChunks;

  // The last tiles of a causal head have the most to do: they start first.
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int tiles = kit::divide_up(n_q, Tile::kTileM);
  const std::int64_t head = blockIdx.x / tiles;
  const int first_query = (tiles - 1 - static_cast<int>(blockIdx.x) % tiles) * Tile::kTileM;
  const int first_row = first_query + warp * Tile::kWarpRows;
  const Mask<kCausal, kTileN> mask{n_q, n_k};

  // Tile t goes to buffer t % kBuffers.
  const AttentionTileCopier<kD, Tile::kThreads> copier{};
  const auto issue_k = [&](int tile, auto may_end) {
    const int buffer = tile % Tile::kBuffers * kTileN * kChunks;
    copier.template issue<kTileN>(tile_k + buffer, t.k, head, tile * kTileN, n_k, may_end);
  };
  const auto issue_v = [&](int tile, auto may_end) {
    const int buffer = tile % Tile::kBuffers * kTileN * kChunks;
    copier.template issue<kTileN>(tile_v + buffer, t.v, head, tile * kTileN, n_k, may_end);
  };

  // Registers: O stays, scores and weights are those of a tile of keys.
  OnlineSoftmax rows[kGroups];
  float o[kGroups][kD / 2] = {};
#pragma unroll
  for (int g = 0; g < kGroups; ++g) rows[g].scale = scale;

  const auto multiply_tile = [&](int tile, auto masked) {
    const uint4* const k_here = tile_k + tile % Tile::kBuffers * kTileN * kChunks;
    const uint4* const v_here = tile_v + tile % Tile::kBuffers * kTileN * kChunks;
    ptx::cp_async_wait<0>();
    __syncthreads();  // this tile is here, and nobody reads the other buffers any more
    if constexpr (kOneBuffer) {
      issue_v(tile, masked);  // of this tile only K is here, and nobody reads V any more
    } else if (tile > 0) {
      issue_k(tile - 1, std::false_type{});
      issue_v(tile - 1, std::false_type{});
    }
    ptx::cp_async_commit();
    // A warp whose queries see nothing of the tile is done with it, unless it must meet the others.
    if constexpr (decltype(masked)::value && !kOneBuffer) {
      if (mask.hides(tile, first_row + Tile::kWarpRows - 1)) return;
    }

    // S = Q K^T. Rows 16 apart are swizzled alike, too: a lane computes where its chunk lies once.
    float s[kGroups][kTileN / 2] = {};
    multiply_scores<T, kD>(
        s,
        [&](std::uint32_t(&q)[4], int c, int g) {
          const int query = warp * Tile::kWarpRows + lane % 16;
          const int at = near_chunk<kChunks>(query, 2 * c + lane / 16);
          ptx::ldmatrix_x4(q, tile_q + at + 16 * g * kChunks);
        },
        [&](std::uint32_t(&k)[4], int c, int j) {
          const int key = lane / 16 * 8 + lane % 8;
          const int at = near_chunk<kChunks>(key, 2 * c + lane / 8 % 2);
          ptx::ldmatrix_x4(k, k_here + at + 16 * j * kChunks);
        });
    if constexpr (kOneBuffer) {
      ptx::cp_async_wait<0>();
      __syncthreads();  // V is here, and nobody reads K any more
      if (tile > 0) issue_k(tile - 1, std::false_type{});
      ptx::cp_async_commit();
    }

    // region weights
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
    // endregion

    // O += P V.
    multiply_output<T>(o, p, [&](std::uint32_t(&v)[4], int j, int c) {
      const int at = near_chunk<kChunks>(lane % 16, 2 * c + lane / 16);
      ptx::ldmatrix_x4_trans(v, v_here + at + 16 * j * kChunks);
    });
  };

  // Q travels with the first tiles of K and V; each tile after them one ahead.
  int tile = mask.tiles(first_query, Tile::kTileM) - 1;
  const int unmasked = mask.unmasked_tiles(first_query);
  copier.template issue<Tile::kTileM>(tile_q, t.q, head, first_query, n_q, std::true_type{});
  if (tile >= 0) issue_k(tile, std::true_type{});
  if (tile >= 0 && !kOneBuffer) issue_v(tile, std::true_type{});
  ptx::cp_async_commit();
  for (; tile >= unmasked; --tile) multiply_tile(tile, std::true_type{});
  for (; tile >= 0; --tile) multiply_tile(tile, std::false_type{});
  ptx::cp_async_wait<0>();
  __syncthreads();  // if there was no tile, Q may only be arriving now

  store_staged<kD>(t, head, n_q, first_row, tile_q, first_query, rows, o);
#endif
}

// Device pointers, aligned to 16 bytes; shapes as Shape says.
template <class T>
void lazy_rescale(const Shape& shape, const Tensors<T>& t, cudaStream_t stream) {
  const int n_q = static_cast<int>(shape.n_q), n_k = static_cast<int>(shape.n_k);
  with_head_dim(shape.d, shape.causal, [&](auto head_dim, auto causal) {
    using Tile = LazyTile<decltype(head_dim)::value>;
    constexpr int kShared = Tile::shared_bytes(Tile::kBuffers);
    const auto kernel = attention_lazy_rescale_kernel<T, head_dim, causal>;
    const int blocks = static_cast<int>(shape.all_heads()) * kit::divide_up(n_q, Tile::kTileM);
    kit::allow_shared(kernel, kShared);
    kernel<<<blocks, Tile::kThreads, kShared, stream>>>(t, n_q, n_k, shape.scale() * kLog2E);
    CUDA_CHECK(cudaGetLastError());
  });
}

}  // namespace attention
