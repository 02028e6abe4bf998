// square_tiles: a warp has 32 keys instead of 16. The best one without wgmma (sm_80).
//
// `mma` waits for shared memory: an operand that is read there serves a warp's 16 keys alone. With
// 32 it serves twice as many products. But dK and dV of 32 keys are too many registers, from d =
// 128 on. So two warps (at d = 256 four) share 32 keys: each computes the scores of its own queries
// and has its own columns of dK and dV. P^T and dS^T of the others' queries come through shared
// memory. This is nearly how FlashAttention-2 cuts up its work. Up to d = 128 three buffers of Q
// and dO fit, and two of P and dS: one barrier per step is enough. Still wrong: all wait at it.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/backward/kit/dq_accum.cuh"
#include "07_flash_attention/backward/kit/gradient_tile_copier.cuh"
#include "07_flash_attention/backward/kit/pairs.cuh"
#include "07_flash_attention/backward/kit/row_stats.cuh"
#include "07_flash_attention/backward/shape.hpp"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/ptx/mma.cuh"
#include "common/kit/swizzle.cuh"

namespace backward {

// A warp has 32 keys, and kSharers warps the same ones: of the scores each computes those of
// kPieces times kOwn queries, of dK and dV it has kCols columns. Where d is 64 a warp has all
// columns of its keys, and two blocks of four warps share an SM. Of dQ a warp has 32 queries and
// kDqCols columns.
template <int kD_>
struct SquareTile {
  static constexpr int kD = kD_;
  static constexpr int kWarps = kD == 64 ? 4 : 8, kThreads = 32 * kWarps;
  static constexpr int kBlocks = 8 / kWarps;           // on an SM
  static constexpr int kTileN = kD == 256 ? 64 : 128;  // of a block
  static constexpr int kTileM = 64;                    // of a step
  static constexpr int kSharers = kWarps * 32 / kTileN;
  static constexpr int kOwn = kD == 256 ? 16 : 32, kPieces = kTileM / kSharers / kOwn;
  static constexpr int kCols = kD / kSharers;
  static constexpr int kDqGroups = kTileM / 32;  // of 32 queries
  static constexpr int kDqCols = kD * kDqGroups / kWarps;
  static constexpr int kChunks = kD / 8, kSlab = kChunks,
                       kPairChunks = kTileM / 8;  // of 16 bytes
  static constexpr bool kExchange = kSharers > 1;
  static constexpr int kStages = kD == 256 ? 2 : 3;  // of Q and dO
  static constexpr bool kOneBarrier = kStages == 3;
  static constexpr int kPairs = kOneBarrier ? 2 : 1;  // of P and dS

  struct Shared {
    uint4 k[kTileN * kChunks], v[kTileN * kChunks];
    uint4 q[kStages][kTileM * kChunks], d_o[kStages][kTileM * kChunks];
    uint4 ds[kPairs][kTileN * kPairChunks];                                 // dS^T: [key][query]
    uint4 p[kExchange ? kPairs : 1][kExchange ? kTileN * kPairChunks : 0];  // P^T
    float lse2[2][kTileM], delta[2][kTileM];
  };
};

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
// (Rows 16 apart are swizzled alike: below, a lane computes one address for all of them.)
// Two operands A of 16 x 16, one below the other, from row `row` and column `8 chunk` on.
template <int kChunks>
__device__ __forceinline__ void load_a(std::uint32_t (&a)[2][4], const uint4* tile, int row,
                                       int chunk) {
  const int lane = threadIdx.x % 32;
  const int at = kit::swizzled_chunk<kChunks>(row + lane % 16, chunk + lane / 16);
#pragma unroll
  for (int m = 0; m < 2; ++m) ptx::ldmatrix_x4(a[m], &tile[at + 16 * m * kChunks]);
}

// c = A B^T for a warp: A is 32 rows of a swizzled tile from row `first` on, B kRows rows of
// another one from row `b_first` on, both with kChunks chunks a row.
template <class T, int kChunks, int kRows>
__device__ __forceinline__ void multiply_square(float (&c)[2][kRows / 2], const uint4* a, int first,
                                                const uint4* b, int b_first) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int k = 0; k < kChunks; k += 2) {  // 16 columns of both
    std::uint32_t of_a[2][4], of_b[4];
    load_a<kChunks>(of_a, a, first, k);
    const int row = b_first + lane / 16 * 8 + lane % 8;
    const int at = kit::swizzled_chunk<kChunks>(row, k + lane / 8 % 2);
#pragma unroll
    for (int j = 0; j < kRows / 16; ++j) {
      ptx::ldmatrix_x4(of_b, &b[at + 16 * j * kChunks]);
#pragma unroll
      for (int m = 0; m < 2; ++m) {
        ptx::mma_m16n8k16<T>(ptx::four(&c[m][8 * j]), of_a[m], of_b[0], of_b[1]);
        ptx::mma_m16n8k16<T>(ptx::four(&c[m][8 * j + 4]), of_a[m], of_b[2], of_b[3]);
      }
    }
  }
}

// c += A B for a warp: A is 32 x 16, in registers; B is rows `row` to row + 15 of a swizzled tile,
// and of their columns those from chunk `first` on.
template <class T, int kChunks, int kCols>
__device__ __forceinline__ void add_product_of_16(float (&c)[2][kCols / 2],
                                                  const std::uint32_t (&a)[2][4], const uint4* b,
                                                  int row, int first) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int j = 0; j < kCols / 16; ++j) {
    std::uint32_t of_b[4];
    const int chunk = first + 2 * j + lane / 16;
    const int at = kit::swizzled_chunk<kChunks>(lane % 16, chunk);
    ptx::ldmatrix_x4_trans(of_b, &b[row * kChunks + at]);
#pragma unroll
    for (int m = 0; m < 2; ++m) {
      ptx::mma_m16n8k16<T>(ptx::four(&c[m][8 * j]), a[m], of_b[0], of_b[1]);
      ptx::mma_m16n8k16<T>(ptx::four(&c[m][8 * j + 4]), a[m], of_b[2], of_b[3]);
    }
  }
}
#endif

template <class T, int kD>
__global__ void __launch_bounds__(SquareTile<kD>::kThreads, SquareTile<kD>::kBlocks)
    square_tiles_kernel(Arguments<T> args) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  const auto& shape = args.shape;
  using Tile = SquareTile<kD>;
  constexpr int kTileN = Tile::kTileN, kOwn = Tile::kOwn, kPieces = Tile::kPieces;
  constexpr int kChunks = Tile::kChunks, kPairChunks = Tile::kPairChunks, kCols = Tile::kCols;
  extern __shared__ uint4 dynamic_chunks[];
  auto& shared = *reinterpret_cast<typename Tile::Shared*>(dynamic_chunks);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  // What belongs to this warp: keys, and of the scores queries, of dK and dV columns.
  const int own_key = warp / Tile::kSharers * 32, sharer = warp % Tile::kSharers;
  const int own_chunk = sharer * kCols / 8;

  // A step: a tile of queries of one of the heads that share these keys.
  const TileRange<Tile> steps(shape);
  const int count = steps.count();

  // The block's keys and values come with the first step, and stay.
  const GradientTileCopier<Tile, T> copier{args, steps};
  const auto after = [](int stage) { return stage == Tile::kStages - 1 ? 0 : stage + 1; };
  auto at = steps.begin(), ahead = at;  // this step, and the one whose tiles come next
  int stage = 0, stage_ahead = 0;
  const auto bring = [&](int step) {
    if (step < count) {
      copy_queries(shared, copier, ahead.head, ahead.row, stage_ahead, step % 2);
      ahead.next();
      stage_ahead = after(stage_ahead);
    }
    ptx::cp_async_commit();
  };
  copier.copy_keys(shared);
  bring(0);
  if (Tile::kOneBarrier) {
    bring(1);
    ptx::cp_async_wait<1>();
    __syncthreads();
  }
  float dk[2][kCols / 2] = {}, dv[2][kCols / 2] = {};
  for (int step = 0; step < count; ++step, at.next(), stage = after(stage)) {
    const int pair = step % Tile::kPairs, first_row = at.row;
    const uint4 *q = shared.q[stage], *d_o = shared.d_o[stage];
    uint4* const shared_ds = shared.ds[pair];
    uint4* const shared_p = shared.p[Tile::kExchange ? pair : 0];
    if (!Tile::kOneBarrier) {
      ptx::cp_async_wait<0>();
      __syncthreads();  // this step is here, and nobody reads the other buffers, P or dS any more
      bring(step + 1);
    }

    const bool all_seen = shape.sees(first_row, steps.first_key + kTileN - 1);
#pragma unroll 1
    for (int piece = 0; piece < kPieces; ++piece) {
      // Keys are rows, queries columns: 16 keys, and 16 more.
      const int own_query = (sharer * kPieces + piece) * kOwn;
      float s[2][kOwn / 2] = {}, dp[2][kOwn / 2] = {};
      multiply_square<T, kChunks, kOwn>(s, shared.k, own_key, q, own_query);
      multiply_square<T, kChunks, kOwn>(dp, shared.v, own_key, d_o, own_query);
      std::uint32_t p[kOwn / 16][2][4], ds[kOwn / 16][2][4];
#pragma unroll
      for (int m = 0; m < 2; ++m) {
        const int key = own_key + 16 * m + lane / 4;
        to_weights(s[m], shared.lse2[step % 2] + own_query, shape);
        if (!all_seen) apply_mask(s[m], shape, first_row + own_query, steps.first_key + key);
        to_score_gradients(dp[m], s[m], shared.delta[step % 2] + own_query);
        // Rounded, they are operands of the next products as they lie, and go to shared memory.
#pragma unroll
        for (int i = 0; i < kOwn / 4; ++i) {
          std::uint32_t& own_p = p[i / 4][m][i % 4];
          std::uint32_t& own_ds = ds[i / 4][m][i % 4];
          own_p = ptx::pack<T>(s[m][2 * i], s[m][2 * i + 1]);
          own_ds = ptx::pack<T>(dp[m][2 * i], dp[m][2 * i + 1]);
          const int to = kit::swizzled_chunk<kPairChunks>(key + 8 * (i % 2), own_query / 8 + i / 2);
          reinterpret_cast<std::uint32_t*>(&shared_ds[to])[lane % 4] = own_ds;
          if (Tile::kExchange) reinterpret_cast<std::uint32_t*>(&shared_p[to])[lane % 4] = own_p;
        }
      }

      // dV and dK: own queries out of registers, those of the other sharers out of shared memory.
#pragma unroll
      for (int j = 0; j < kOwn / 16; ++j) {
        add_product_of_16<T, kChunks, kCols>(dv, p[j], d_o, own_query + 16 * j, own_chunk);
        add_product_of_16<T, kChunks, kCols>(dk, ds[j], q, own_query + 16 * j, own_chunk);
      }
    }
    if (Tile::kOneBarrier) ptx::cp_async_wait<0>();
    __syncthreads();  // P and dS of all keys are there; with one barrier the next step is, too
#pragma unroll
    for (int i = 1; i < Tile::kSharers; ++i) {
      static_assert(Tile::kSharers == 1 || kPieces == 1, "others have one piece");
      const int others = (sharer + i) % Tile::kSharers * kOwn;
#pragma unroll
      for (int j = 0; j < kOwn / 16; ++j) {
        const int query = others + 16 * j;
        std::uint32_t a[2][4];
        load_a<kPairChunks>(a, shared_p, own_key, query / 8);
        add_product_of_16<T, kChunks, kCols>(dv, a, d_o, query, own_chunk);
        load_a<kPairChunks>(a, shared_ds, own_key, query / 8);
        add_product_of_16<T, kChunks, kCols>(dk, a, q, query, own_chunk);
      }
    }

    // dQ = dS K: 32 queries and kDqCols columns a warp. Transposed, rows of dS^T are its columns.
    const int dq_row = warp % Tile::kDqGroups * 32;
    const int dq_col = warp / Tile::kDqGroups * Tile::kDqCols;
    float dq[2][Tile::kDqCols / 2] = {};
#pragma unroll
    for (int k = 0; k < kTileN; k += 16) {
      std::uint32_t a[2][4];
#pragma unroll
      for (int m = 0; m < 2; ++m) {
        const int key = lane / 16 * 8 + lane % 8, chunk = dq_row / 8 + 2 * m + lane / 8 % 2;
        const int first = kit::swizzled_chunk<kPairChunks>(key, chunk);
        ptx::ldmatrix_x4_trans(a[m], &shared_ds[k * kPairChunks + first]);
      }
      add_product_of_16<T, kChunks, Tile::kDqCols>(dq, a, shared.k, k, dq_col / 8);
    }
    // Behind the barrier nobody needs what belonged to the step before; and behind the products
    // the copies delay none of them.
    if (Tile::kOneBarrier) bring(step + 2);
#pragma unroll
    for (int m = 0; m < 2; ++m) {
      const int row = first_row + dq_row + 16 * m;
#pragma unroll
      for (int j = 0; j < Tile::kDqCols / 8; ++j) {
        float* fragment = fragment_of<kD>(args.rows, at.head, row, dq_col + 8 * j);
        add_to_fragment(fragment, ptx::four(&dq[m][4 * j]));
      }
    }
  }

  // The block's rows of dK and dV are complete.
  const std::int64_t keys_at = steps.kv_head * shape.n_k * kD;
#pragma unroll
  for (int m = 0; m < 2; ++m) {
    const int key = steps.first_key + own_key + 16 * m + lane / 4;
    store_keys<kD>(args.dk + keys_at, dk[m], key, shape.n_k, own_chunk * 8, shape.scale());
    store_keys<kD>(args.dv + keys_at, dv[m], key, shape.n_k, own_chunk * 8, 1);
  }
#endif
}

// Device pointers, aligned to 16 bytes. scratch: row_stats_and_dq_scratch(shape) floats.
template <class T, int kD>
void square_tiles(const Shape& shape, const Tensors<T>& t, float* scratch, cudaStream_t stream) {
  using Tile = SquareTile<kD>;
  const auto kernel = square_tiles_kernel<T, kD>;
  kit::allow_shared(kernel, sizeof(typename Tile::Shared));
  const Arguments<T> args = prepare(shape, t, scratch, true, stream);
  const auto blocks = shape.all_kv_heads() * TileRange<Tile>::key_tiles(shape);
  kernel<<<static_cast<unsigned>(blocks), Tile::kThreads, sizeof(typename Tile::Shared), stream>>>(
      args);
  CUDA_CHECK(cudaGetLastError());
  finish_dq_fragments<kD>(args, stream);
}

}  // namespace backward
