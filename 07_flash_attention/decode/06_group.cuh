// group: a block per K/V head. All queries of its group are in registers, so a key that was
// loaded serves every one of them: the bytes are divided by the group.
//
// Four warps take the keys in turn, each lane with its eight elements of up to eight queries. At
// the end each warp has seen a quarter of the keys: it leaves its O and its log-sum-exp in shared
// memory, and the block merges the four. A larger group has a block for every eight of its queries.
// What is still wrong: no more blocks than K/V heads; with one sequence most SMs have no work.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/decode/kit/parts.cuh"
#include "07_flash_attention/decode/kit/team.cuh"
#include "07_flash_attention/decode/shape.hpp"
#include "common/kit/check.cuh"

namespace decode {

template <class T, int kD, int kQueries>
__global__ void __launch_bounds__(kThreads) group_kernel(Tensors<T> t, Shape shape) {
  using Queries = Team<T, kD, kQueries>;
  __shared__ WarpParts<kD, kQueries> parts;
  const WorkTile work = shape.work_tile(blockIdx.x, kQueries);
  const int team = threadIdx.x / Queries::kLanes, member = threadIdx.x % Queries::kLanes;
  const std::int64_t first = work.kv_head * shape.n * Queries::kLanes + member;
  const uint4* k = reinterpret_cast<const uint4*>(t.k) + first;
  const uint4* v = reinterpret_cast<const uint4*>(t.v) + first;

  // The teams of all warps take keys in turn.
  Queries state;
  state.start(t.q + work.first_row * kD, work.count, shape.scale());
  for (int j = team; j - team < shape.n; j += kWarps * Queries::kTeams) {
    const bool seen = j < shape.n;
    const int place = j * Queries::kLanes;
    state.add(seen ? k[place] : uint4{}, seen ? v[place] : uint4{}, seen);
  }

  // What a warp knows lies in all of its teams, and then in shared memory.
  state.merge_teams();
  parts.store(state);
  __syncthreads();
  for (int row = threadIdx.x / 32; row < work.count; row += kWarps) {
    store_result(t, work.first_row + row, merge_warps(parts, row));
  }
}

// Device pointers, aligned to 16 bytes.
template <class T>
void group(const Shape& shape, const Tensors<T>& t, cudaStream_t stream) {
  with_group(shape, [&](auto head_dim, auto queries) {
    const auto blocks = static_cast<unsigned>(shape.work_tiles(queries));
    group_kernel<T, head_dim, queries><<<blocks, kThreads, 0, stream>>>(t, shape);
    CUDA_CHECK(cudaGetLastError());
  });
}

}  // namespace decode
