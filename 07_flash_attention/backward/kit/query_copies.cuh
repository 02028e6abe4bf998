// The copies of a step for a block that knows where in the queries it is, and need not divide.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/backward/kit/tile_copier.cuh"
#include "common/kit/ptx/mma.cuh"

namespace backward {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
// Issues what TileCopier::copy_step does, for the queries from row `row` of a head on: Q and dO go
// to buffer `tile`, the log-sum-exp and D to buffer `fact`.
template <class Tile, class T>
__device__ __forceinline__ void copy_queries(typename Tile::Shared& shared,
                                             const TileCopier<Tile, T>& copier, std::int64_t head,
                                             int row, int tile, int fact) {
  const auto& args = copier.args;
  const int n_q = args.shape.n_q;
  const std::int64_t first = head * n_q * Tile::kD;
  copier.template copy<Tile::kQueries>(shared.q[tile], args.q + first, row, n_q);
  copier.template copy<Tile::kQueries>(shared.d_o[tile], args.d_o + first, row, n_q);
  const int i = threadIdx.x * 4;
  if (i >= Tile::kQueries) return;
  const std::int64_t at = head * args.rows.pitch + row + i;
  ptx::cp_async_16(&shared.lse2[fact][i], args.rows.lse2 + at);
  ptx::cp_async_16(&shared.mean[fact][i], args.rows.mean + at);
}
#endif

}  // namespace backward
