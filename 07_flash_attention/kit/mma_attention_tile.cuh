// How the rungs for mma.sync cut up their work: their tiles, how these come to shared memory, by
// way of registers or by cp.async, the two products of a warp, whose fragments are fetched a step
// ahead, and how O leaves, through shared memory, so that it fills whole sectors.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/kit/accumulators.cuh"
#include "07_flash_attention/shape.hpp"
#include "common/kit/ptx/mma.cuh"
#include "common/kit/swizzle.cuh"

namespace attention {

// A warp has 32 queries of its own, so every key it fetches from shared memory serves twice; 16
// where d is 256, or O alone would fill its registers. kTileN: keys.
template <int kD_, int kWarps_ = kD_ == 256 ? 8 : 4, int kTileN_ = kD_ == 256 ? 32 : 64>
struct MmaAttentionTile {
  static constexpr int kD = kD_, kWarps = kWarps_, kTileN = kTileN_;
  static constexpr int kWarpRows = kD == 256 ? 16 : 32;
  static constexpr int kThreads = 32 * kWarps;
  static constexpr int kTileM = kWarpRows * kWarps;  // queries
  static constexpr int kBlocks = 8 / kWarps;         // that share an SM
  static constexpr int kRowGroups = kWarpRows / 16;  // of 16 queries, as mma takes them
  static constexpr int kChunks = kD / 8;             // of 16 bytes, in a row

  // Dynamic shared memory: a tile of Q, and `buffers` of K and of V.
  static constexpr int kQBytes = kTileM * kD * 2, kKvBytes = kTileN * kD * 2;
  static constexpr int shared_bytes(int buffers) { return kQBytes + 2 * buffers * kKvBytes; }
};

// Copies kRows rows from row `first` of a head with n rows into a tile, in chunks of 16 bytes, 8
// elements; zeros after the last row. By kThreads threads.
template <int kD, int kRows, int kThreads, class T>
__device__ void load_plain_tile(uint4* tile, const T* heads, std::int64_t head, int first, int n) {
  const auto* source = reinterpret_cast<const uint4*>(heads + (head * n + first) * kD);
  for (int i = threadIdx.x; i < kRows * kD / 8; i += kThreads) {
    tile[i] = first + i / (kD / 8) < n ? source[i] : make_uint4(0, 0, 0, 0);
  }
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
// A thread's part in copying rows of kD elements into a tile: the same chunks of rows kPass apart,
// so that all its addresses are a constant away from the first. Eight rows or more at a time; where
// the threads are too few for that, kPart chunks of each, and then the next ones.
template <int kD, int kThreads>
struct AttentionTileCopier {
  static constexpr int kChunks = kD / 8, kPart = kThreads / 8 < kChunks ? kThreads / 8 : kChunks;
  static constexpr int kPass = kThreads / kPart;
  static_assert(kPass % 8 == 0 && kPart % 8 == 0, "a thread's chunks are swizzled alike");
  int row = threadIdx.x / kPart, chunk = threadIdx.x % kPart;
  int place = kit::swizzled_chunk<kChunks>(row, chunk);

  // Issues the copy of kRows rows from row `first` of a head with n rows; zeros after the last, if
  // they may end there (std::true_type).
  template <int kRows, class T, class MayEnd>
  __device__ void issue(uint4* tile, const T* heads, std::int64_t head, int first, int n,
                        MayEnd) const {
    const auto* source = reinterpret_cast<const uint4*>(heads + (head * n + first + row) * kD);
#pragma unroll
    for (int i = 0; i < kRows; i += kPass) {
      const bool inside = !MayEnd::value || first + row + i < n;
#pragma unroll
      for (int c = 0; c < kChunks; c += kPart) {
        const int at = i * kChunks + c;
        ptx::cp_async_16(tile + place + at, source + chunk + at, inside);
      }
    }
  }
};
#endif

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
// s += Q K^T, 16 columns of Q and K and 16 keys at a step: in step i the columns from
// 16 (i / kRun) and the keys from 16 (i % kRun) on. fetch_q(q, c, g) fetches the columns from 16 c
// on of group g of queries, and fetch_k(k, c, j) those of the keys from 16 j on.
template <class T, int kD, int kGroups, int kScores, class FetchQ, class FetchK>
__device__ __forceinline__ void multiply_scores(float (&s)[kGroups][kScores], FetchQ fetch_q,
                                                FetchK fetch_k) {
  constexpr int kRun = kScores / 8, kSteps = kD / 16 * kRun;
  std::uint32_t q[2][kGroups][4], k[2][4];
  const auto fetch = [&](int i) {
    const int c = i / kRun, j = i % kRun;
#pragma unroll
    for (int g = 0; g < kGroups && j == 0; ++g) fetch_q(q[c % 2][g], c, g);
    fetch_k(k[i % 2], c, j);
  };
  fetch(0);
#pragma unroll
  for (int c = 0; c < kD / 16; ++c) {
#pragma unroll
    for (int j = 0; j < kRun; ++j) {
      const int i = c * kRun + j;
      if (i + 1 < kSteps) fetch(i + 1);
#pragma unroll
      for (int g = 0; g < kGroups; ++g) {
        ptx::mma_m16n8k16<T>(ptx::four(&s[g][8 * j]), q[c % 2][g], k[i % 2][0], k[i % 2][1]);
        ptx::mma_m16n8k16<T>(ptx::four(&s[g][8 * j + 4]), q[c % 2][g], k[i % 2][2], k[i % 2][3]);
      }
    }
  }
}

// o += P V: in step i the keys from 16 (i / kRun) and the columns from 16 (i % kRun) on.
// fetch_v(v, j, c) fetches the columns from 16 c on of the keys from 16 j on.
template <class T, int kGroups, int kOutputs, int kKeys, class FetchV>
__device__ __forceinline__ void multiply_output(float (&o)[kGroups][kOutputs],
                                                const std::uint32_t (&p)[kGroups][kKeys][4],
                                                FetchV fetch_v) {
  constexpr int kRun = kOutputs / 8;
  std::uint32_t v[2][4];
  fetch_v(v[0], 0, 0);
#pragma unroll
  for (int j = 0; j < kKeys; ++j) {
#pragma unroll
    for (int c = 0; c < kRun; ++c) {
      const int i = j * kRun + c;
      if (i + 1 < kKeys * kRun) fetch_v(v[(i + 1) % 2], (i + 1) / kRun, (i + 1) % kRun);
#pragma unroll
      for (int g = 0; g < kGroups; ++g) {
        ptx::mma_m16n8k16<T>(ptx::four(&o[g][8 * c]), p[g][j], v[i % 2][0], v[i % 2][1]);
        ptx::mma_m16n8k16<T>(ptx::four(&o[g][8 * c + 4]), p[g][j], v[i % 2][2], v[i % 2][3]);
      }
    }
  }
}
#endif

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
// Copies kRows rows of a tile, from row `tile_row` on, to row `first` of a head with n rows, whose
// address is `to`; none after the last. By one warp.
template <int kD, int kRows, class T>
__device__ inline void copy_rows(T* to, int first, int n, const uint4* tile, int tile_row) {
  constexpr int kChunks = kD / 8;
#pragma unroll
  for (int i = threadIdx.x % 32; i < kRows * kChunks; i += 32) {
    const int row = i / kChunks;
    if (first + row >= n) break;
    reinterpret_cast<uint4*>(to)[i] =
        tile[kit::swizzled_chunk<kChunks>(tile_row + row, i % kChunks)];
  }
}

// Writes a warp's rows of O and their log-sum-exp: 16 kGroups rows from row `first_row` of a head
// on. On their way they take the room of the tile of Q, from row `tile_row` on, which is the warp's
// own.
template <int kD, int kGroups, class T>
__device__ __forceinline__ void store_staged(const Tensors<T>& t, std::int64_t head, int n_q,
                                             int first_row, uint4* tile, int first_query,
                                             OnlineSoftmax (&rows)[kGroups],
                                             float (&o)[kGroups][kD / 2]) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int g = 0; g < kGroups; ++g) {
    float factor[2], lse[2];
    rows[g].finish(factor, lse);
    OnlineSoftmax::rescale(o[g], factor);
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int row = first_row + 16 * g + 8 * r + lane / 4;
      if (lane % 4 == 0 && row < n_q) t.lse[head * n_q + row] = lse[r];
      const int tile_row = row - first_query;
#pragma unroll
      for (int c = 0; c < kD / 8; ++c) {
        uint4* chunk = &tile[kit::swizzled_chunk<kD / 8>(tile_row, c)];
        reinterpret_cast<std::uint32_t*>(chunk)[lane % 4] =
            ptx::pack<T>(o[g][4 * c + 2 * r], o[g][4 * c + 2 * r + 1]);
      }
    }
  }
  __syncwarp();
  copy_rows<kD, 16 * kGroups>(t.o + (head * n_q + first_row) * kD, first_row, n_q, tile,
                              first_row - first_query);
}
#endif

}  // namespace attention
