// split: the cache is cut into chunks along its tokens, a block per chunk, and a second
// kernel merges what they leave. FlashDecoding, or split-K for attention.
//
// A chunk is a softmax of its own; its O and its log-sum-exp, in fp32, go to scratch memory. How
// many chunks: enough that all SMs have work, few enough that merging costs little (chunks.cuh).
// What is still wrong: a second launch for the little work of a merge, and it waits for the
// slowest block of the first.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "07_flash_attention/decode/kit/chunks.cuh"
#include "07_flash_attention/decode/kit/parts.cuh"
#include "07_flash_attention/decode/kit/team.cuh"
#include "07_flash_attention/decode/shape.hpp"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"

namespace decode {

template <class T, int kD, int kQueries>
__global__ void __launch_bounds__(kThreads) split_kernel(Tensors<T> t, Shape shape, Chunks chunks) {
  using Queries = Team<T, kD, kQueries>;
  __shared__ WarpParts<kD, kQueries> parts;
  // region chunk
  // Chunks of one K/V head are neighbours.
  const WorkTile work = shape.work_tile(blockIdx.x / chunks.count, kQueries);
  const int chunk = static_cast<int>(blockIdx.x % chunks.count);
  const int begin = chunk * chunks.keys, end = min(shape.n, begin + chunks.keys);
  // endregion
  const int team = threadIdx.x / Queries::kLanes, member = threadIdx.x % Queries::kLanes;
  const std::int64_t first = work.kv_head * shape.n * Queries::kLanes + member;
  const uint4* k = reinterpret_cast<const uint4*>(t.k) + first;
  const uint4* v = reinterpret_cast<const uint4*>(t.v) + first;

  Queries state;
  state.start(t.q + work.first_row * kD, work.count, shape.scale());
  for (int j = begin + team; j - team < end; j += kWarps * Queries::kTeams) {
    const bool seen = j < end;
    const int place = j * Queries::kLanes;
    state.add(seen ? k[place] : uint4{}, seen ? v[place] : uint4{}, seen);
  }

  // region part
  // The block's part of each row goes to memory.
  state.merge_teams();
  parts.store(state);
  __syncthreads();
  for (int row = threadIdx.x / 32; row < work.count; row += kWarps) {
    chunks.store((work.first_row + row) * chunks.count + chunk, merge_warps(parts, row));
  }
  // endregion
}

// A block of one warp for each row.
template <class T, int kD>
__global__ void __launch_bounds__(32) merge_kernel(Tensors<T> t, Chunks chunks) {
  const std::int64_t row = blockIdx.x;
  store_result(t, row, chunks.merge<kD, 64>(row * chunks.count, chunks.count));
}

// Device pointers, aligned to 16 bytes.
template <class T>
void split(const Shape& shape, const Tensors<T>& t, const Scratch& scratch, cudaStream_t stream) {
  with_group(shape, [&](auto head_dim, auto queries) {
    const auto kernel = split_kernel<T, head_dim, queries>;
    const std::int64_t work_tiles = shape.work_tiles(queries);
    const int resident = kit::resident_blocks(kernel, kThreads);
    const Chunks chunks = cut_cache(shape, work_tiles, resident, scratch);
    kernel<<<static_cast<unsigned>(work_tiles * chunks.count), kThreads, 0, stream>>>(t, shape,
                                                                                      chunks);
    CUDA_CHECK(cudaGetLastError());
    const auto rows = static_cast<unsigned>(shape.rows());
    merge_kernel<T, head_dim><<<rows, 32, 0, stream>>>(t, chunks);
    CUDA_CHECK(cudaGetLastError());
  });
}

}  // namespace decode
