// Beyond 1, square_tiles: a warp has 32 keys instead of 16. The best one without wgmma (sm_80).
//
// Rung 8 waits for shared memory: an operand that is read there serves a warp's 16 keys alone. With
// 32 it serves twice as many products. But dK and dV of 32 keys are too many registers, from d =
// 128 on. So two warps (at d = 256 four) share 32 keys: each computes the scores of its own queries
// and has its own columns of dK and dV. P^T and dS^T of the others' queries come through shared
// memory. This is nearly how FlashAttention-2 cuts up its work. What is still wrong: two barriers a
// step, at which the tensor cores run dry.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/backward/kit/dq_parts.cuh"
#include "07_flash_attention/backward/kit/dq_sum.cuh"
#include "07_flash_attention/backward/kit/pairs.cuh"
#include "07_flash_attention/backward/kit/row_facts.cuh"
#include "07_flash_attention/backward/kit/steps.cuh"
#include "07_flash_attention/backward/kit/tile_copier.cuh"
#include "07_flash_attention/backward/shape.hpp"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/ptx/mma.cuh"
#include "common/kit/swizzle.cuh"

namespace backward {

// A warp has 32 keys, and kSharers warps the same ones: of the scores each computes those of kOwn
// queries, of dK and dV it has kCols columns. Where d is 64 a warp has all columns of its keys, and
// two blocks of four warps share an SM. Of dQ a warp has 32 queries and kDqCols columns.
template <int kD>
struct SquareTile {
  static constexpr int kWarps = kD == 64 ? 4 : 8, kThreads = 32 * kWarps;
  static constexpr int kBlocks = 8 / kWarps;           // on an SM
  static constexpr int kKeys = kD == 256 ? 64 : 128;   // of a block
  static constexpr int kQueries = kD == 64 ? 32 : 64;  // of a step
  static constexpr int kSharers = kWarps * 32 / kKeys;
  static constexpr int kOwn = kQueries / kSharers, kCols = kD / kSharers;
  static constexpr int kDqGroups = kQueries / 32;  // of 32 queries
  static constexpr int kDqCols = kD * kDqGroups / kWarps;
  static constexpr int kChunks = kD / 8, kSlab = kChunks,
                       kPairChunks = kQueries / 8;  // of 16 bytes
  static constexpr bool kExchange = kSharers > 1;

  // Two buffers for what belongs to a step.
  struct Shared {
    uint4 k[kKeys * kChunks], v[kKeys * kChunks];
    uint4 q[2][kQueries * kChunks], d_o[2][kQueries * kChunks];
    uint4 ds[kKeys * kPairChunks];                 // dS^T: [key][query]
    uint4 p[kExchange ? kKeys * kPairChunks : 1];  // P^T
    float lse2[2][kQueries], mean[2][kQueries];
  };
};

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
// Two operands A of 16 x 16, one below the other, from row `row` and column `8 chunk` on.
template <int kChunks>
__device__ __forceinline__ void load_a(std::uint32_t (&a)[2][4], const uint4* tile, int row,
                                       int chunk) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int m = 0; m < 2; ++m) {
    const int at = kit::swizzled_chunk<kChunks>(row + 16 * m + lane % 16, chunk + lane / 16);
    ptx::ldmatrix_x4(a[m], &tile[at]);
  }
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
#pragma unroll
    for (int j = 0; j < kRows / 16; ++j) {
      const int row = b_first + 16 * j + lane / 16 * 8 + lane % 8;
      ptx::ldmatrix_x4(of_b, &b[kit::swizzled_chunk<kChunks>(row, k + lane / 8 % 2)]);
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
    ptx::ldmatrix_x4_trans(of_b, &b[kit::swizzled_chunk<kChunks>(row + lane % 16, chunk)]);
#pragma unroll
    for (int m = 0; m < 2; ++m) {
      ptx::mma_m16n8k16<T>(ptx::four(&c[m][8 * j]), a[m], of_b[0], of_b[1]);
      ptx::mma_m16n8k16<T>(ptx::four(&c[m][8 * j + 4]), a[m], of_b[2], of_b[3]);
    }
  }
}
#endif

// Where the fragment of a query and a column lies. Fragments go through the columns of 16 queries,
// then of the next 16, one padded head after the other.
template <int kD>
__device__ __forceinline__ float* fragment_of(const RowFacts& rows, std::int64_t head, int row,
                                              int col) {
  return rows.dq_sum + (head * rows.pitch + row) * kD + col * 16;
}

// A block 64 queries.
template <class T, int kD>
__global__ void __launch_bounds__(kRowThreads)
    finish_dq_fragments_kernel(RowFacts rows, T* dq, int n_q, float scale) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  const int tiles = rows.pitch / 64;  // of a head
  const std::int64_t head = blockIdx.x / tiles;
  const int first_row = static_cast<int>(blockIdx.x % tiles) * 64;
#pragma unroll
  for (int i = threadIdx.x / 32; i < kD / 8; i += kRowThreads / 32) {
    const int row = first_row + i / (kD / 32) * 16, col = i % (kD / 32) * 32;
    store_fragments<kD>(dq + head * n_q * kD, fragment_of<kD>(rows, head, row, col), 128, row, col,
                        n_q, scale);
  }
#endif
}

// dQ = dq_sum / sqrt(d)
template <int kD, class T>
void finish_dq_fragments(const Arguments<T>& args, cudaStream_t stream) {
  const auto& shape = args.shape;
  const auto blocks = static_cast<unsigned>(shape.all_heads() * args.rows.pitch / 64);
  finish_dq_fragments_kernel<T, kD>
      <<<blocks, kRowThreads, 0, stream>>>(args.rows, args.dq, shape.n_q, shape.scale());
  CUDA_CHECK(cudaGetLastError());
}

template <class T, int kD>
__global__ void __launch_bounds__(SquareTile<kD>::kThreads, SquareTile<kD>::kBlocks)
    square_tiles_kernel(Arguments<T> args) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  const auto& shape = args.shape;
  using Tile = SquareTile<kD>;
  constexpr int kKeys = Tile::kKeys, kOwn = Tile::kOwn;
  constexpr int kChunks = Tile::kChunks, kPairChunks = Tile::kPairChunks, kCols = Tile::kCols;
  extern __shared__ uint4 dynamic_chunks[];
  auto& shared = *reinterpret_cast<typename Tile::Shared*>(dynamic_chunks);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  // What belongs to this warp: keys, and of the scores queries, of dK and dV columns.
  const int own_key = warp / Tile::kSharers * 32, sharer = warp % Tile::kSharers;
  const int own_query = sharer * kOwn, own_chunk = sharer * kCols / 8;

  // A step: a tile of queries of one of the heads that share these keys.
  const Steps<Tile> steps(shape);
  const int count = steps.count();

  // The block's keys and values come with the first step, and stay.
  const TileCopier<Tile, T> copier{args, steps};
  copier.copy_keys(shared);
  if (count > 0) copier.copy_step(shared, 0);
  ptx::cp_async_commit();
  float dk[2][kCols / 2] = {}, dv[2][kCols / 2] = {};
  for (int step = 0; step < count; ++step) {
    const int b = step % 2, first_row = steps.first_row(step);
    const uint4 *q = shared.q[b], *d_o = shared.d_o[b];
    ptx::cp_async_wait<0>();
    __syncthreads();  // this step is here, and nobody reads the other buffers, P or dS any more
    if (step + 1 < count) copier.copy_step(shared, step + 1);
    ptx::cp_async_commit();

    // Keys are rows, queries columns: 16 keys, and 16 more.
    float s[2][kOwn / 2] = {}, dp[2][kOwn / 2] = {};
    multiply_square<T, kChunks, kOwn>(s, shared.k, own_key, q, own_query);
    multiply_square<T, kChunks, kOwn>(dp, shared.v, own_key, d_o, own_query);
    const bool all_seen = shape.sees(first_row, steps.first_key + kKeys - 1);
    std::uint32_t p[kOwn / 16][2][4], ds[kOwn / 16][2][4];
#pragma unroll
    for (int m = 0; m < 2; ++m) {
      const int key = own_key + 16 * m + lane / 4;
      to_weights(s[m], shared.lse2[b] + own_query, shape);
      if (!all_seen) hide_pairs(s[m], shape, first_row + own_query, steps.first_key + key);
      to_score_gradients(dp[m], s[m], shared.mean[b] + own_query);
      // Rounded, they are operands of the next products as they lie, and go to shared memory.
#pragma unroll
      for (int i = 0; i < kOwn / 4; ++i) {
        std::uint32_t& own_p = p[i / 4][m][i % 4];
        std::uint32_t& own_ds = ds[i / 4][m][i % 4];
        own_p = ptx::pack<T>(s[m][2 * i], s[m][2 * i + 1]);
        own_ds = ptx::pack<T>(dp[m][2 * i], dp[m][2 * i + 1]);
        const int at = kit::swizzled_chunk<kPairChunks>(key + 8 * (i % 2), own_query / 8 + i / 2);
        reinterpret_cast<std::uint32_t*>(&shared.ds[at])[lane % 4] = own_ds;
        if (Tile::kExchange) reinterpret_cast<std::uint32_t*>(&shared.p[at])[lane % 4] = own_p;
      }
    }

    // dV and dK: own queries out of registers, those of the other sharers out of shared memory.
#pragma unroll
    for (int j = 0; j < kOwn / 16; ++j) {
      add_product_of_16<T, kChunks, kCols>(dv, p[j], d_o, own_query + 16 * j, own_chunk);
      add_product_of_16<T, kChunks, kCols>(dk, ds[j], q, own_query + 16 * j, own_chunk);
    }
    __syncthreads();  // P and dS of all keys are there
#pragma unroll
    for (int i = 1; i < Tile::kSharers; ++i) {
      const int others = (sharer + i) % Tile::kSharers * kOwn;
#pragma unroll
      for (int j = 0; j < kOwn / 16; ++j) {
        const int query = others + 16 * j;
        std::uint32_t a[2][4];
        load_a<kPairChunks>(a, shared.p, own_key, query / 8);
        add_product_of_16<T, kChunks, kCols>(dv, a, d_o, query, own_chunk);
        load_a<kPairChunks>(a, shared.ds, own_key, query / 8);
        add_product_of_16<T, kChunks, kCols>(dk, a, q, query, own_chunk);
      }
    }

    // dQ = dS K: 32 queries and kDqCols columns a warp. Transposed, rows of dS^T are its columns.
    const int dq_row = warp % Tile::kDqGroups * 32;
    const int dq_col = warp / Tile::kDqGroups * Tile::kDqCols;
    float dq[2][Tile::kDqCols / 2] = {};
#pragma unroll
    for (int k = 0; k < kKeys; k += 16) {
      std::uint32_t a[2][4];
#pragma unroll
      for (int m = 0; m < 2; ++m) {
        const int key = k + lane / 16 * 8 + lane % 8, chunk = dq_row / 8 + 2 * m + lane / 8 % 2;
        ptx::ldmatrix_x4_trans(a[m], &shared.ds[kit::swizzled_chunk<kPairChunks>(key, chunk)]);
      }
      add_product_of_16<T, kChunks, Tile::kDqCols>(dq, a, shared.k, k, dq_col / 8);
    }
#pragma unroll
    for (int m = 0; m < 2; ++m) {
      const int row = first_row + dq_row + 16 * m;
#pragma unroll
      for (int j = 0; j < Tile::kDqCols / 8; ++j) {
        float* fragment = fragment_of<kD>(args.rows, steps.head(step), row, dq_col + 8 * j);
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

// Device pointers, aligned to 16 bytes. scratch: row_facts_and_dq_scratch(shape) floats.
template <class T, int kD>
void square_tiles(const Shape& shape, const Tensors<T>& t, float* scratch, cudaStream_t stream) {
  using Tile = SquareTile<kD>;
  const auto kernel = square_tiles_kernel<T, kD>;
  kit::allow_shared(kernel, sizeof(typename Tile::Shared));
  const Arguments<T> args = prepare(shape, t, scratch, true, stream);
  const auto blocks = shape.all_kv_heads() * Steps<Tile>::key_tiles(shape);
  kernel<<<static_cast<unsigned>(blocks), Tile::kThreads, sizeof(typename Tile::Shared), stream>>>(
      args);
  CUDA_CHECK(cudaGetLastError());
  finish_dq_fragments<kD>(args, stream);
}

}  // namespace backward
