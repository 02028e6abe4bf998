// single_pass: each element is read once and written once (decoupled look-back).
//
// A block that has the sum of its tile publishes it, and then looks back over the tiles before its
// own, 32 at a time: it adds up their sums until it meets a tile that already knows the sum of
// everything up to its end (Merrill and Garland, "Single-pass parallel prefix scan with decoupled
// look-back", 2016). It waits only for tiles whose blocks already run, because tiles are handed out
// by a counter: blockIdx says nothing about who starts first. What is still wrong: while a block
// looks back, it loads nothing (`producer_warp` goes on loading, in smaller tiles, and is slower).
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "05_reduction/scan/kit/look_back.cuh"
#include "05_reduction/scan/kit/rows.cuh"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"

namespace scan {

// counters[0] hands out the tiles, counters[1] counts the finished ones.
template <int kBlock, int kRows>
__global__ void __launch_bounds__(kBlock)
    scan_single_pass_kernel(const float* x, float* y, std::int64_t n, bool aligned,
                            std::uint64_t* states, unsigned* counters) {
  constexpr int kWarps = kBlock / 32;
  constexpr int kTile = kBlock * 4 * kRows;
  __shared__ float of_warps[kWarps];
  __shared__ unsigned ticket;
  __shared__ bool is_last;
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  if (threadIdx.x == 0) ticket = atomicAdd(&counters[0], 1);
  __syncthreads();
  const std::int64_t tile = ticket;
  const std::int64_t first = tile * kTile + warp * (kRows * kRow) + 4 * lane;
  const bool fast = aligned && (tile + 1) * kTile <= n;

  // The tile into registers, scanned warp by warp; each warp leaves its sum.
  float4 rows[kRows];
  load_rows(rows, x, first, n, fast);
  const float of_warp = scan_rows(rows);
  if (lane == 0) of_warps[warp] = of_warp;
  __syncthreads();

  // One warp for the block publishes the sum of the tile and looks back.
  if (warp == 0) add_what_lies_before<kWarps>(of_warps, states, tile);
  __syncthreads();

  // This block will not look back again; the last one clears the states for the next launch.
  if (threadIdx.x == 0) leave_states(counters, is_last);
  store_rows(rows, of_warps[warp], y, first, n, fast);
  __syncthreads();
  if (is_last) {
    for (unsigned i = threadIdx.x; i < gridDim.x; i += kBlock) states[i] = 0;
    if (threadIdx.x < 2) counters[threadIdx.x] = 0;
  }
}

// y[i] = x[0] + ... + x[i] for all i < n. Device pointers, fast if aligned to 16 bytes; states: one
// per 32768 elements; counters: two. States and counters are 0 before and after. Sums that round
// may differ from run to run: how far a tile looks back depends on who was faster.
inline void scan_single_pass(const float* x, float* y, std::int64_t n, std::uint64_t* states,
                             unsigned* counters, cudaStream_t stream) {
  constexpr int kBlock = 1024;  // a large tile: the fewer tiles there are, the shorter the way back
  constexpr int kRows = 8;
  constexpr int kTile = kBlock * 4 * kRows;
  const std::int64_t tiles = (n + kTile - 1) / kTile;
  if (tiles == 0) return;
  const bool aligned = kit::is_aligned_to_16(x) && kit::is_aligned_to_16(y);
  scan_single_pass_kernel<kBlock, kRows>
      <<<tiles, kBlock, 0, stream>>>(x, y, n, aligned, states, counters);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace scan
