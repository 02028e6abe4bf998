// last_block_merges: one launch. The block of a work tile that happens to finish last merges
// what all of them have left.
//
// Every block stores its part and draws a number from its work tile's ticket, as in rung
// single_pass of chapter 05; who draws the last one knows that all parts are there. No block waits
// for another. It merges with a warp per row, so that loads of many parts are in flight together.
// What looks wrong: a lane asks for a key and a value, and waits for them before it asks for the
// next ones.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/decode/kit/chunks.cuh"
#include "07_flash_attention/decode/kit/parts.cuh"
#include "07_flash_attention/decode/kit/team.cuh"
#include "07_flash_attention/decode/shape.hpp"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"

namespace decode {

template <class T, int kD, int kQueries>
__global__ void __launch_bounds__(kThreads)
    last_block_merges_kernel(Tensors<T> t, Shape shape, Chunks chunks) {
  using Queries = Team<T, kD, kQueries>;
  __shared__ WarpParts<kD, kQueries> parts;
  const std::int64_t at = blockIdx.x / chunks.count;  // of the work tiles
  const Part part = part_of(shape.work_tile(at, kQueries), at, chunks, 0, shape.n);
  const int team = threadIdx.x / Queries::kLanes, member = threadIdx.x % Queries::kLanes;
  const std::int64_t first = part.work.kv_head * shape.n * Queries::kLanes + member;
  const uint4* k = reinterpret_cast<const uint4*>(t.k) + first;
  const uint4* v = reinterpret_cast<const uint4*>(t.v) + first;

  Queries state;
  state.start(t.q + part.work.first_row * kD, part.work.count, shape.scale());
  for (int j = part.begin + team; j - team < part.end; j += kWarps * Queries::kTeams) {
    const bool seen = j < part.end;
    const int place = j * Queries::kLanes;
    state.add(seen ? k[place] : uint4{}, seen ? v[place] : uint4{}, seen);
  }

  state.merge_teams();
  parts.store(state);
  __syncthreads();
  finish_part<16>(parts, part, chunks, t);
}

// Device pointers, aligned to 16 bytes.
template <class T>
void last_block_merges(const Shape& shape, const Tensors<T>& t, const Scratch& scratch,
                       cudaStream_t stream) {
  with_group(shape, [&](auto head_dim, auto queries) {
    const auto kernel = last_block_merges_kernel<T, head_dim, queries>;
    const std::int64_t work_tiles = shape.work_tiles(queries);
    const int resident = kit::resident_blocks(kernel, kThreads);
    const Chunks chunks = cut_cache(shape, work_tiles, resident, scratch);
    kernel<<<static_cast<unsigned>(work_tiles * chunks.count), kThreads, 0, stream>>>(t, shape,
                                                                                      chunks);
    CUDA_CHECK(cudaGetLastError());
  });
}

}  // namespace decode
