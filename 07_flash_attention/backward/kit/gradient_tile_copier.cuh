// How the tiles of a step come to shared memory where threads themselves bring them, by cp.async.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/backward/kit/pairs.cuh"
#include "07_flash_attention/backward/kit/row_stats.cuh"
#include "common/kit/ptx/mma.cuh"
#include "common/kit/swizzle.cuh"

namespace backward {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
// Issues the copies that bring a block's tiles to its shared memory, which has k, v, and two
// buffers of q, d_o, lse2 and delta. A tile lies as slabs, one after the other, with kSlab chunks
// of 16 bytes of each row.
template <class Tile, class T>
struct GradientTileCopier {
  static constexpr int kChunks = Tile::kChunks, kSlab = Tile::kSlab;

  const Arguments<T>& args;
  const TileRange<Tile>& steps;

  // The block's keys and values.
  template <class Shared>
  __device__ void copy_keys(Shared& shared) const {
    const std::int64_t at = steps.kv_head * args.shape.n_k * (8 * kChunks);
    copy<Tile::kTileN>(shared.k, args.k + at, steps.first_key, args.shape.n_k);
    copy<Tile::kTileN>(shared.v, args.v + at, steps.first_key, args.shape.n_k);
  }

  // What a step needs, to the buffer that is the step's: Q and dO of its rows, and with four rows a
  // thread their log-sum-exp and D.
  template <class Shared>
  __device__ void copy_step(Shared& shared, int step) const {
    const std::int64_t head = steps.head(step);
    const int row = steps.first_row(step), n_q = args.shape.n_q;
    const std::int64_t first = head * n_q * (8 * kChunks);
    copy<Tile::kTileM>(shared.q[step % 2], args.q + first, row, n_q);
    copy<Tile::kTileM>(shared.d_o[step % 2], args.d_o + first, row, n_q);
    const int i = threadIdx.x * 4;
    if (i >= Tile::kTileM) return;
    const std::int64_t at = head * args.rows.pitch + row + i;
    ptx::cp_async_16(&shared.lse2[step % 2][i], args.rows.lse2 + at);
    ptx::cp_async_16(&shared.delta[step % 2][i], args.rows.delta + at);
  }

  // kRows rows from row `first` of a head with n rows; zeros after the last. A thread brings the
  // same chunk of rows kPass apart, which are swizzled alike: its addresses are a constant away
  // from the first.
  template <int kRows>
  static __device__ void copy(void* tile, const T* head, int first, int n) {
    constexpr int kPass = Tile::kThreads / kChunks;
    static_assert(kPass % 8 == 0 && kRows % kPass == 0, "a thread's chunks are swizzled alike");
    const int row = threadIdx.x / kChunks, chunk = threadIdx.x % kChunks;
    const auto* from = reinterpret_cast<const uint4*>(head) + (first + row) * kChunks + chunk;
    uint4* to = static_cast<uint4*>(tile) + chunk / kSlab * kRows * kSlab +
                kit::swizzled_chunk<kSlab>(row, chunk % kSlab);
#pragma unroll
    for (int i = 0; i < kRows; i += kPass) {
      ptx::cp_async_16(to + i * kSlab, from + i * kChunks, first + row + i < n);
    }
  }
};
#endif

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
// Issues what GradientTileCopier::copy_step does, for the queries from row `row` of a head on: Q
// and dO go to buffer `tile`, the log-sum-exp and D to buffer `stat`.
template <class Tile, class T>
__device__ __forceinline__ void copy_queries(typename Tile::Shared& shared,
                                             const GradientTileCopier<Tile, T>& copier,
                                             std::int64_t head, int row, int tile, int stat) {
  const auto& args = copier.args;
  const int n_q = args.shape.n_q;
  const std::int64_t first = head * n_q * Tile::kD;
  copier.template copy<Tile::kTileM>(shared.q[tile], args.q + first, row, n_q);
  copier.template copy<Tile::kTileM>(shared.d_o[tile], args.d_o + first, row, n_q);
  const int i = threadIdx.x * 4;
  if (i >= Tile::kTileM) return;
  const std::int64_t at = head * args.rows.pitch + row + i;
  ptx::cp_async_16(&shared.lse2[stat][i], args.rows.lse2 + at);
  ptx::cp_async_16(&shared.delta[stat][i], args.rows.delta + at);
}
#endif

}  // namespace backward
