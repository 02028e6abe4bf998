// tma: TMA brings the tiles, one instruction for each (tensor memory accelerator, sm_90a).
//
// One thread issues it, and nobody computes addresses any more. An mbarrier in shared memory counts
// the bytes of a buffer as they come; who needs the tile waits for that. Rows past the end of a
// head arrive as zeros. With every d two blocks share an SM, and K and V have two buffers. What is
// still wrong: before a buffer is filled again, all warps meet at __syncthreads().
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
#include "common/kit/pipeline.cuh"
#include "common/kit/ptx/mma.cuh"
#include "common/kit/ptx/tma.cuh"

namespace attention {

// Four warps also where d is 256, with tiles of 32 keys.
template <class Element_, int kD_>
struct TmaTile : MmaAttentionTile<kD_, 4, kD_ == 256 ? 32 : 64> {
  using Element = Element_;
};

template <class Tile>
struct TmaShared {
  unsigned char q[Tile::kQBytes], k[2][Tile::kKvBytes], v[2][Tile::kKvBytes];
  std::uint64_t full[2];  // Q counts as part of the first tile
};

template <class T, class Tile, bool kCausal>
__global__ void __launch_bounds__(Tile::kThreads, Tile::kBlocks)
    attention_tma_kernel(const __grid_constant__ AttentionMaps maps, Tensors<T> t, int n_q, int n_k,
                         float scale) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  constexpr int kD = Tile::kD, kTileN = Tile::kTileN, kGroups = Tile::kRowGroups;
  extern __shared__ unsigned char dynamic_shared[];
  auto& shared = kit::aligned_shared<TmaShared<Tile>>(dynamic_shared);

  // The last tiles of a causal head have the most to do: they start first.
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int q_tiles = kit::divide_up(n_q, Tile::kTileM);
  const int head = blockIdx.x / q_tiles;
  const int first_query = (q_tiles - 1 - static_cast<int>(blockIdx.x) % q_tiles) * Tile::kTileM;
  const int first_row = first_query + warp * Tile::kWarpRows;
  const Mask<kCausal, kTileN> mask{n_q, n_k};
  const int tiles = mask.tiles(first_query, Tile::kTileM);

  // region issue
  // Tile t goes to buffer t % 2. `bytes`: of all that the buffer's barrier is to wait for.
  const auto issue_k_and_v = [&](int tile, int bytes) {
    std::uint64_t* const full = &shared.full[tile % 2];
    ptx::mbarrier_arrive_expect_tx(full, bytes);
    ptx::tensor_load(shared.k[tile % 2], &maps.k, 0, tile * kTileN, 0, head, full);
    ptx::tensor_load(shared.v[tile % 2], &maps.v, 0, tile * kTileN, 0, head, full);
  };
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&shared.full[0], 1);
    ptx::mbarrier_init(&shared.full[1], 1);
    ptx::fence_mbarrier_init();
    if (tiles > 0) {
      issue_k_and_v(tiles - 1, Tile::kQBytes + 2 * Tile::kKvBytes);
      ptx::tensor_load(shared.q, &maps.q, 0, first_query, 0, head, &shared.full[(tiles - 1) % 2]);
    }
  }
  __syncthreads();  // nobody waits at a barrier before it is set up
  // endregion

  // Registers: O stays, scores and weights are those of a tile of keys.
  OnlineSoftmax rows[kGroups];
  float o[kGroups][kD / 2] = {};
#pragma unroll
  for (int g = 0; g < kGroups; ++g) rows[g].scale = scale;

  const auto multiply_tile = [&](int tile, auto masked) {
    // region hand_over
    const unsigned char* const k_here = shared.k[tile % 2];
    const unsigned char* const v_here = shared.v[tile % 2];
    __syncthreads();  // nobody reads the other buffers any more
    if (threadIdx.x == 0 && tile > 0) {
      ptx::fence_proxy_async();  // what was read comes before what TMA writes
      issue_k_and_v(tile - 1, 2 * Tile::kKvBytes);
    }
    // Every second tile comes to this buffer: the parity changes with each of its visits.
    kit::wait(&shared.full[tile % 2], (tiles - 1 - tile) / 2 % 2);
    // endregion
    // A warp whose queries see nothing of the tile is done with it.
    if constexpr (decltype(masked)::value) {
      if (mask.hides(tile, first_row + Tile::kWarpRows - 1)) return;
    }

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
    multiply_output<T>(o, p, [&](std::uint32_t(&v)[4], int j, int c) {
      const int at = slab_offset(lane % 16, 2 * c + lane / 16, kTileN * 128);
      ptx::ldmatrix_x4_trans(v, v_here + at + 16 * j * 128);
    });
  };

  // Backwards: the tiles that need a mask come first.
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
void tma(const Shape& shape, const Tensors<T>& t, cudaStream_t stream) {
  const int n_q = static_cast<int>(shape.n_q), n_k = static_cast<int>(shape.n_k);
  with_head_dim(shape.d, shape.causal, [&](auto head_dim, auto causal) {
    using Tile = TmaTile<T, head_dim>;
    constexpr int kShared = kit::aligned_shared_bytes<TmaShared<Tile>>();
    const auto kernel = attention_tma_kernel<T, Tile, causal>;
    const int blocks = static_cast<int>(shape.all_heads()) * kit::divide_up(n_q, Tile::kTileM);
    kit::allow_shared(kernel, kShared);
    kernel<<<blocks, Tile::kThreads, kShared, stream>>>(tensor_maps<Tile>(shape, t), t, n_q, n_k,
                                                        shape.scale() * kLog2E);
    CUDA_CHECK(cudaGetLastError());
  });
}

}  // namespace attention
