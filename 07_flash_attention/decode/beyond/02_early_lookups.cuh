// early_lookups: programmatic_launch for caches in pages (sm_90).
//
// Where the first keys lie is looked up before the launch ahead has ended, so that L2 can fetch
// them, too. That is only right if nobody has changed the table or the lengths since that launch
// began. A server changes them between steps, not between the layers of its model. Otherwise this
// is `paged`, but for the room that a block takes.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "07_flash_attention/decode/kit/chunks.cuh"
#include "07_flash_attention/decode/kit/key_ring.cuh"
#include "07_flash_attention/decode/kit/parts.cuh"
#include "07_flash_attention/decode/kit/tensor_rows.cuh"
#include "07_flash_attention/decode/shape.hpp"
#include "07_flash_attention/shape.hpp"
#include "common/kit/launch.cuh"
#include "common/kit/programmatic_launch.cuh"
#include "common/kit/ptx/grid.cuh"
#include "common/kit/ptx/mma.cuh"

namespace decode {

template <class T, int kD, int kW>
__global__ void __launch_bounds__(32 * kW)
    early_lookups_kernel(Tensors<T> t, Shape shape, Cache cache, Chunks chunks) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  ptx::griddepcontrol_launch_dependents();  // the next launch may begin, too
  extern __shared__ __align__(128) uint4 dynamic_chunks[];
  auto& shared = *reinterpret_cast<ShallowRings<kD, kTensorRows, kW>*>(dynamic_chunks);
  const int warp = threadIdx.x / 32;

  const std::int64_t at = blockIdx.x / chunks.count;
  const auto work = shape.work_tile(at, kTensorRows);
  const int sequence = static_cast<int>(work.kv_head) / static_cast<int>(shape.kv_heads);
  const int end = cache.end(sequence), first = cache.window < shape.n ? cache.first_of(end) : 0;
  const auto part = part_of(work, at, chunks, first, end);

  // region early
  // Without a window the lookups do not wait for the sequence's length.
  const auto row_of = [&](int key) { return cache.row(shape, work.kv_head, key); };
  const Lookups lookups(shared.rings, part, row_of);
  prefetch_before_wait<kD>(t, [&](int key) { return lookups.row(0, key); });
  // endregion

  cache.prefetch_table<32 * kW>(sequence, part.begin, part.end);
  if (part.count == 0) return;

  TensorRows<T, kD> rows;
  const auto add = [&](const auto& stage, int seen) { rows.add(stage.k, stage.v, seen); };
  const auto start = [&] { rows.start(t.q + work.first_row * kD, work.count, shape.scale()); };
  attend(shared.rings, lookups, t, add, start, ptx::createpolicy_evict_first());

  rows.store_part(work.count, shared.parts.o[warp], shared.parts.lse2[warp]);
  __syncthreads();
  finish_part(shared.parts, part, chunks, t);
#endif
}

// Device pointers, aligned to 16 bytes. What is in cache.lengths and cache.table could be seen
// before the launch ahead of this one in the stream began.
template <class T>
void early_lookups(const Shape& shape, const Tensors<T>& t, const Cache& cache,
                   const Scratch& scratch, cudaStream_t stream) {
  attention::with_head_dim(shape.d, [&](auto head_dim) {
    const std::int64_t work_tiles = shape.work_tiles(kTensorRows);
    Shape seen = shape;
    seen.n = std::min(shape.n, cache.window);
    const Chunks chunks = cut_cache(seen, work_tiles, kit::multiprocessor_count(), scratch);
    const std::int64_t blocks = work_tiles * chunks.count;
    with_warps<head_dim, kTensorRows>(blocks, chunks.keys, shape.group(), [&](auto warps) {
      // A block that is to have an SM to itself has room that no other fits beside it.
      int shared = sizeof(ShallowRings<head_dim, kTensorRows, warps>);
      if (blocks <= kit::multiprocessor_count()) shared = std::max(shared, kit::most_shared() / 2);
      const auto kernel = early_lookups_kernel<T, head_dim, warps>;
      kit::allow_shared(kernel, shared);
      kit::launch_programmatic(kernel, static_cast<unsigned>(blocks), 32 * warps, shared, stream, t,
                               shape, cache, chunks);
    });
  });
}

}  // namespace decode
