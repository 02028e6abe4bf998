// The two products of attention as wgmma, a warpgroup's 64 queries against a tile of keys.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/attention_16bit/kit/hopper_tile.cuh"
#include "common/kit/ptx/mma.cuh"
#include "common/kit/ptx/wgmma.cuh"

namespace attention {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// Issues s = Q K^T for a warpgroup's 64 queries, both operands from shared memory, as one group.
// q: the first of its rows in the tile of Q. s must not be in use; it holds the scores only after
// the group has been waited for.
template <class Tile>
__device__ __forceinline__ void issue_scores(float (&s)[Tile::kTileN / 2], const unsigned char* q,
                                             const unsigned char* k) {
  const std::uint64_t q_tile = ptx::descriptor_128B(q, 0, 1024);
  const std::uint64_t k_tile = ptx::descriptor_128B(k, 0, 1024);
  ptx::fence_registers(s);
  ptx::wgmma_fence();
#pragma unroll
  for (int c = 0; c < Tile::kD / 16; ++c) {  // 16 columns: 32 bytes of a slab
    const int slab = c / 4, bytes = c % 4 * 32;
    ptx::wgmma<typename Tile::Element>(s, ptx::advance(q_tile, slab * Tile::kTileM * 128 + bytes),
                                       ptx::advance(k_tile, slab * Tile::kTileN * 128 + bytes),
                                       c > 0);
  }
  ptx::wgmma_commit_group();
}

// The same with Q in registers, as load_queries leaves it.
template <class Tile>
__device__ __forceinline__ void issue_scores(float (&s)[Tile::kTileN / 2],
                                             const std::uint32_t (&q)[Tile::kD / 16][4],
                                             const unsigned char* k) {
  const std::uint64_t k_tile = ptx::descriptor_128B(k, 0, 1024);
  ptx::fence_registers(s);
  ptx::wgmma_fence();
#pragma unroll
  for (int c = 0; c < Tile::kD / 16; ++c) {
    ptx::wgmma<typename Tile::Element>(
        s, q[c], ptx::advance(k_tile, c / 4 * Tile::kTileN * 128 + c % 4 * 32), c > 0);
  }
  ptx::wgmma_commit_group();
}

// A warp's 16 rows of Q as operand A. own_rows: the first of its warpgroup's in the tile.
template <class Tile>
__device__ __forceinline__ void load_queries(std::uint32_t (&q)[Tile::kD / 16][4],
                                             const unsigned char* tile, int own_rows) {
  const int lane = threadIdx.x % 32, row = own_rows + threadIdx.x % 128 / 32 * 16 + lane % 16;
#pragma unroll
  for (int c = 0; c < Tile::kD / 16; ++c) {
    ptx::ldmatrix_x4(q[c], tile + slab_offset(row, 2 * c + lane / 16, Tile::kTileM * 128));
  }
  __syncwarp();  // before one lane releases the tile for all
}

// Issues o += P V (o = P V unless `accumulate`) as one group. P comes from registers. V lies with
// one key a row, which is what wgmma calls MN-major for this operand: no transposition.
template <class Tile>
__device__ __forceinline__ void issue_output(float (&o)[Tile::kD / 2],
                                             std::uint32_t (&p)[Tile::kTileN / 16][4],
                                             const unsigned char* v, bool accumulate) {
  const std::uint64_t v_tile = ptx::descriptor_128B(v, Tile::kTileN * 128, 1024);
  ptx::fence_registers(o);
  ptx::wgmma_fence();
#pragma unroll
  for (int j = 0; j < Tile::kTileN / 16; ++j) {
    ptx::wgmma<typename Tile::Element, 1>(o, p[j], ptx::advance(v_tile, j * 16 * 128),
                                          j > 0 || accumulate);
  }
  ptx::wgmma_commit_group();
}
#endif

}  // namespace attention
