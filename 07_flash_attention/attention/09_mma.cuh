// Rung 9, mma: tensor cores (mma.sync, sm_80) do both products; Q, K, V and O are bf16 or fp16.
//
// The loops of q_outer. A warp has 32 queries (16 where d is 256): every key it fetches from shared
// memory serves twice. Scores never leave the registers: rounded to 16 bits they are operand A of
// the second product as they lie. Tiles arrive by cp.async, one ahead, in pieces swizzled for
// ldmatrix; operands are fetched one step ahead. What is still wrong: the warps that multiply also
// load and wait for each other, and mma.sync reaches only about 60 % of what Hopper's tensor cores
// can do.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "07_flash_attention/attention/launch.cuh"
#include "07_flash_attention/attention/mma_tile.cuh"
#include "07_flash_attention/attention/shape.hpp"
#include "07_flash_attention/attention/softmax_rows.cuh"
#include "common/cuda_check.cuh"
#include "common/ptx_mma.cuh"

template <class T, int kD, bool kCausal>
__global__ void __launch_bounds__(MmaTile<kD>::kThreads, MmaTile<kD>::kBlocks)
    attention_mma_kernel(Tensors<T> t, int n_q, int n_k, float scale) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  using Tile = MmaTile<kD>;
  constexpr int kKeys = Tile::kKeys, kPieces = kD / 8;
  constexpr int kGroups = Tile::kWarpRows / 16;  // of 16 queries, as mma takes them
  extern __shared__ uint4 pieces[];              // a piece: 16 bytes, 8 elements
  uint4* const tile_q = pieces;
  uint4* const tile_k = tile_q + Tile::kQueries * kPieces;
  uint4* const tile_v = tile_k + 2 * kKeys * kPieces;  // two buffers of either

  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int tiles = divide_up(n_q, Tile::kQueries);
  const std::int64_t head = blockIdx.x / tiles;
  // The last tiles of a causal head have the most to do: they start first.
  const int first_query = (tiles - 1 - static_cast<int>(blockIdx.x) % tiles) * Tile::kQueries;
  const int first_row = first_query + warp * Tile::kWarpRows;

  const RowCopier<kD, Tile::kThreads> copier;
  const auto order_keys_and_values = [&](int tile, auto may_end) {
    const int buffer = tile % 2 * kKeys * kPieces;
    copier.template order<kKeys>(tile_k + buffer, t.k, head, tile * kKeys, n_k, may_end);
    copier.template order<kKeys>(tile_v + buffer, t.v, head, tile * kKeys, n_k, may_end);
  };

  SoftmaxRows rows[kGroups];
  float o[kGroups][kD / 2] = {};
#pragma unroll
  for (int g = 0; g < kGroups; ++g) start_rows(rows[g], scale);

  const auto multiply_tile = [&](int tile, auto masked) {
    constexpr int kSteps = kD / 16 * (kKeys / 16);  // of 16 keys and 16 columns, in both products
    const uint4* const k_here = tile_k + tile % 2 * kKeys * kPieces;
    const uint4* const v_here = tile_v + tile % 2 * kKeys * kPieces;
    ptx::cp_async_wait<0>();
    __syncthreads();  // this tile is here, and nobody reads the other buffers any more
    if (tile > 0) order_keys_and_values(tile - 1, std::false_type{});
    ptx::cp_async_commit();
    if constexpr (decltype(masked)::value) {  // none of this warp's queries may see the tile
      const int last_row = first_row + Tile::kWarpRows - 1;
      if (visible_keys<kCausal>(last_row, n_q, n_k) <= tile * kKeys) return;
    }

    // S = Q K^T: step i has columns 16 (i / kRun) of Q and K, and keys 16 (i % kRun). Rows 16 apart
    // are swizzled alike, too: a lane computes where its piece lies once for all of them.
    constexpr int kRun = kKeys / 16;
    float s[kGroups][kKeys / 2] = {};
    std::uint32_t q[2][kGroups][4], k[2][4];
    const auto fetch_q_and_k = [&](int i) {
      const int c = i / kRun, j = i % kRun;
      const int query = warp * Tile::kWarpRows + lane % 16, key = lane / 16 * 8 + lane % 8;
#pragma unroll
      for (int g = 0; g < kGroups && j == 0; ++g) {
        const uint4* piece = &tile_q[swizzled_piece<kD>(query, 2 * c + lane / 16)];
        ptx::ldmatrix_x4(q[c % 2][g], piece + 16 * g * kPieces);
      }
      const uint4* piece = &k_here[swizzled_piece<kD>(key, 2 * c + lane / 8 % 2)];
      ptx::ldmatrix_x4(k[i % 2], piece + 16 * j * kPieces);
    };
    fetch_q_and_k(0);
#pragma unroll
    for (int i = 0; i < kSteps; ++i) {
      if (i + 1 < kSteps) fetch_q_and_k(i + 1);
      const int c = i / kRun, j = i % kRun;
#pragma unroll
      for (int g = 0; g < kGroups; ++g) {
        ptx::mma_m16n8k16<T>(four(&s[g][8 * j]), q[c % 2][g], k[i % 2][0], k[i % 2][1]);
        ptx::mma_m16n8k16<T>(four(&s[g][8 * j + 4]), q[c % 2][g], k[i % 2][2], k[i % 2][3]);
      }
    }

    std::uint32_t p[kGroups][kKeys / 16][4];
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      if constexpr (decltype(masked)::value) {
        const int row = first_row + 16 * g + lane / 4;
        const int visible[2] = {visible_keys<kCausal>(row, n_q, n_k) - tile * kKeys,
                                visible_keys<kCausal>(row + 8, n_q, n_k) - tile * kKeys};
        mask_scores(s[g], visible);
      }
      float largest[2];
      largest_scores(s[g], largest);
      if (raise_largest(rows[g], largest)) scale_rows(o[g], rows[g].factor);
      weigh_scores(s[g], rows[g]);
      pack_weights<T>(s[g], p[g]);
    }

    // O += P V: step i has keys 16 (i / (kD / 16)) and columns 16 (i % (kD / 16)).
    std::uint32_t v[2][4];
    const auto fetch_v = [&](int i) {
      const int j = i / (kD / 16), c = i % (kD / 16);
      const uint4* piece = &v_here[swizzled_piece<kD>(lane % 16, 2 * c + lane / 16)];
      ptx::ldmatrix_x4_trans(v[i % 2], piece + 16 * j * kPieces);
    };
    fetch_v(0);
#pragma unroll
    for (int i = 0; i < kSteps; ++i) {
      if (i + 1 < kSteps) fetch_v(i + 1);
      const int j = i / (kD / 16), c = i % (kD / 16);
#pragma unroll
      for (int g = 0; g < kGroups; ++g) {
        ptx::mma_m16n8k16<T>(four(&o[g][8 * c]), p[g][j], v[i % 2][0], v[i % 2][1]);
        ptx::mma_m16n8k16<T>(four(&o[g][8 * c + 4]), p[g][j], v[i % 2][2], v[i % 2][3]);
      }
    }
  };

  // Only the last tiles hold keys that a query of this block does not see: the tail of K, and the
  // diagonal of a causal mask. The tiles run backwards, so these come first, and the main loop has
  // no mask.
  const int last_query = min(first_query + Tile::kQueries, n_q) - 1;
  int tile = divide_up(visible_keys<kCausal>(last_query, n_q, n_k), kKeys) - 1;
  const int unmasked = visible_keys<kCausal>(first_query, n_q, n_k) / kKeys;
  copier.template order<Tile::kQueries>(tile_q, t.q, head, first_query, n_q, std::true_type{});
  if (tile >= 0) order_keys_and_values(tile, std::true_type{});
  ptx::cp_async_commit();
  for (; tile >= unmasked; --tile) multiply_tile(tile, std::true_type{});
  for (; tile >= 0; --tile) multiply_tile(tile, std::false_type{});
  ptx::cp_async_wait<0>();
  __syncthreads();  // if there was no tile, Q may only be arriving now

  // O goes out through the shared memory of Q, each warp through its own rows: as pieces of 16
  // bytes it fills whole sectors.
#pragma unroll
  for (int g = 0; g < kGroups; ++g) {
    float factor[2], lse[2];
    finish_rows(rows[g], factor, lse);
    scale_rows(o[g], factor);
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int row = first_row + 16 * g + 8 * r + lane / 4;
      if (lane % 4 == 0 && row < n_q) t.lse[head * n_q + row] = lse[r];
      const int tile_row = row - first_query;
#pragma unroll
      for (int c = 0; c < kPieces; ++c) {
        uint4* piece = &tile_q[swizzled_piece<kD>(tile_row, c)];
        reinterpret_cast<std::uint32_t*>(piece)[lane % 4] =
            ptx::pack<T>(o[g][4 * c + 2 * r], o[g][4 * c + 2 * r + 1]);
      }
    }
  }
  __syncwarp();
  copy_rows<kD, Tile::kWarpRows>(t.o + (head * n_q + first_row) * kD, first_row, n_q, tile_q,
                                 first_row - first_query);
#endif
}

// Device pointers, aligned to 16 bytes; shapes as AttentionShape says.
template <class T>
void attention_mma(const AttentionShape& shape, const Tensors<T>& t, cudaStream_t stream) {
  const int n_q = static_cast<int>(shape.n_q), n_k = static_cast<int>(shape.n_k);
  with_head_dim(shape.d, shape.causal, [&](auto head_dim, auto causal) {
    using Tile = MmaTile<decltype(head_dim)::value>;
    const auto kernel = attention_mma_kernel<T, head_dim, causal>;
    const int blocks = static_cast<int>(shape.all_heads()) * divide_up(n_q, Tile::kQueries);
    allow_shared(kernel, Tile::kSharedBytes);  // d = 256 wants 128 KB; sm_86 and sm_89 have 99
    kernel<<<blocks, Tile::kThreads, Tile::kSharedBytes, stream>>>(t, n_q, n_k,
                                                                   shape.scale() * kLog2E);
    CUDA_CHECK(cudaGetLastError());
  });
}
