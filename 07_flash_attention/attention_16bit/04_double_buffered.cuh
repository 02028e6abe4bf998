// double_buffered: the next tiles of K and V are on their way while these are multiplied.
//
// cp.async writes to shared memory past the registers, and there are two buffers of either tile:
// one is read, the other one is filled (double buffering). One barrier per tile remains. A thread
// copies the same chunk of rows a constant apart, so it needs one address for a tile and not one
// for each copy: registers are what limits this kernel. What is still wrong: a warp waits for every
// operand that it fetches from shared memory.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "07_flash_attention/kit/accumulators.cuh"
#include "07_flash_attention/kit/mma_attention_tile.cuh"
#include "07_flash_attention/shape.hpp"
#include "07_flash_attention/swizzled_tile.cuh"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/ptx/mma.cuh"
#include "common/kit/swizzle.cuh"

namespace attention {

template <class T, int kD, bool kCausal>
__global__ void __launch_bounds__(MmaAttentionTile<kD>::kThreads, MmaAttentionTile<kD>::kBlocks)
    attention_double_buffered_kernel(Tensors<T> t, int n_q, int n_k, float scale) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  // Shared memory: a tile of Q, and what there is of K and V.
  using Tile = MmaAttentionTile<kD>;
  constexpr int kTileN = Tile::kTileN, kChunks = Tile::kChunks, kGroups = Tile::kRowGroups;
  extern __shared__ uint4 chunks[];  // in chunks of 16 bytes, 8 elements
  uint4* const tile_q = chunks;
  uint4* const tile_k = tile_q + Tile::kTileM * kChunks;
  uint4* const tile_v = tile_k + 2 * kTileN * kChunks;  // two buffers of either

  // The last tiles of a causal head have the most to do: they start first.
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int tiles = kit::divide_up(n_q, Tile::kTileM);
  const std::int64_t head = blockIdx.x / tiles;
  const int first_query = (tiles - 1 - static_cast<int>(blockIdx.x) % tiles) * Tile::kTileM;
  const int first_row = first_query + warp * Tile::kWarpRows;
  const Mask<kCausal, kTileN> mask{n_q, n_k};

  // region copies
  // Tile t goes to buffer t % 2.
  const AttentionTileCopier<kD, Tile::kThreads> copier{};
  const auto issue_k_and_v = [&](int tile, auto may_end) {
    const int buffer = tile % 2 * kTileN * kChunks;
    copier.template issue<kTileN>(tile_k + buffer, t.k, head, tile * kTileN, n_k, may_end);
    copier.template issue<kTileN>(tile_v + buffer, t.v, head, tile * kTileN, n_k, may_end);
  };
  // endregion

  // Registers: O stays, scores and weights are those of a tile of keys.
  OnlineSoftmax rows[kGroups];
  float o[kGroups][kD / 2] = {};
#pragma unroll
  for (int g = 0; g < kGroups; ++g) rows[g].scale = scale;

  const auto multiply_tile = [&](int tile, auto masked) {
    // region hand_over
    const uint4* const k_here = tile_k + tile % 2 * kTileN * kChunks;
    const uint4* const v_here = tile_v + tile % 2 * kTileN * kChunks;
    ptx::cp_async_wait<0>();
    __syncthreads();  // this tile is here, and nobody reads the other buffers any more
    if (tile > 0) issue_k_and_v(tile - 1, std::false_type{});
    ptx::cp_async_commit();
    // endregion
    // A warp whose queries see nothing of the tile is done with it.
    if constexpr (decltype(masked)::value) {
      if (mask.hides(tile, first_row + Tile::kWarpRows - 1)) return;
    }

    // S = Q K^T.
    float s[kGroups][kTileN / 2] = {};
    multiply_transposed<T, kChunks, kGroups>(s, tile_q, warp * Tile::kWarpRows, k_here, lane);

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

    // O += P V.
    multiply_registers<T, kChunks, kGroups>(o, p, v_here, 0, lane);
  };

  // Q travels with the first tiles of K and V; each tile after them one ahead.
  int tile = mask.tiles(first_query, Tile::kTileM) - 1;
  const int unmasked = mask.unmasked_tiles(first_query);
  copier.template issue<Tile::kTileM>(tile_q, t.q, head, first_query, n_q, std::true_type{});
  if (tile >= 0) issue_k_and_v(tile, std::true_type{});
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
void double_buffered(const Shape& shape, const Tensors<T>& t, cudaStream_t stream) {
  const int n_q = static_cast<int>(shape.n_q), n_k = static_cast<int>(shape.n_k);
  with_head_dim(shape.d, shape.causal, [&](auto head_dim, auto causal) {
    using Tile = MmaAttentionTile<decltype(head_dim)::value>;
    constexpr int kShared = Tile::shared_bytes(2);
    const auto kernel = attention_double_buffered_kernel<T, head_dim, causal>;
    const int blocks = static_cast<int>(shape.all_heads()) * kit::divide_up(n_q, Tile::kTileM);
    kit::allow_shared(kernel, kShared);  // d = 256 wants 128 KB; sm_86 and sm_89 have 99
    kernel<<<blocks, Tile::kThreads, kShared, stream>>>(t, n_q, n_k, shape.scale() * kLog2E);
    CUDA_CHECK(cudaGetLastError());
  });
}

}  // namespace attention
