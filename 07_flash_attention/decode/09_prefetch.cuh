// prefetch: keys and values are asked for long before they are needed (cp.async, sm_80).
//
// Little's law: bytes in flight = bandwidth x latency. Each warp has a ring of stages in shared
// memory, 16 keys and their values in each, and asks for a stage as soon as one is free, waiting
// for its own copies only: with d = 128 a block has 64 KB in flight, and needs no registers for it.
// What is still wrong: a warp waits for its own results, one after the other, more than for bytes,
// and the rings leave room for few warps. So `last_block_merges` is faster on an H200, but for
// short caches and large groups.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/decode/kit/chunks.cuh"
#include "07_flash_attention/decode/kit/key_ring.cuh"
#include "07_flash_attention/decode/kit/parts.cuh"
#include "07_flash_attention/decode/kit/team.cuh"
#include "07_flash_attention/decode/shape.hpp"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"

namespace decode {

template <class T, int kD, int kQueries>
__global__ void __launch_bounds__(kThreads)
    prefetch_kernel(Tensors<T> t, Shape shape, Chunks chunks) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  using Queries = Team<T, kD, kQueries>;
  extern __shared__ __align__(128) uint4 dynamic_chunks[];
  auto& shared = *reinterpret_cast<RingShared<kD, kQueries>*>(dynamic_chunks);
  const int team = threadIdx.x % 32 / Queries::kLanes, member = threadIdx.x % Queries::kLanes;
  const std::int64_t at = blockIdx.x / chunks.count;  // of the work tiles
  const Part part = part_of(shape.work_tile(at, kQueries), at, chunks, 0, shape.n);

  // The warp's teams take the keys of a stage in turn.
  Queries state;
  state.start(t.q + part.work.first_row * kD, part.work.count, shape.scale());
  const std::int64_t first = part.work.kv_head * shape.n;
  const Lookups lookups(shared.rings, part, [first](int key) { return first + key; });
  attend(shared.rings, lookups, t, [&](const auto& stage, int seen) {
#pragma unroll
    for (int j = team; j < kStageKeys + team; j += Queries::kTeams) {
      const int place = stage.place(j, member);
      state.add(stage.k[place], stage.v[place], j < seen);
    }
  });

  state.merge_teams();
  shared.parts.store(state);
  __syncthreads();
  finish_part<16>(shared.parts, part, chunks, t);
#endif
}

// Device pointers, aligned to 16 bytes.
template <class T>
void prefetch(const Shape& shape, const Tensors<T>& t, const Scratch& scratch,
              cudaStream_t stream) {
  with_group(shape, [&](auto head_dim, auto queries) {
    const auto kernel = prefetch_kernel<T, head_dim, queries>;
    constexpr int kShared = sizeof(RingShared<decltype(head_dim)::value, queries>);
    kit::allow_shared(kernel, kShared);
    const std::int64_t work_tiles = shape.work_tiles(queries);
    const int resident = kit::resident_blocks(kernel, kThreads, kShared);
    const Chunks chunks = cut_cache(shape, work_tiles, resident, scratch);
    const auto blocks = static_cast<unsigned>(work_tiles * chunks.count);
    kernel<<<blocks, kThreads, kShared, stream>>>(t, shape, chunks);
    CUDA_CHECK(cudaGetLastError());
  });
}

}  // namespace decode
