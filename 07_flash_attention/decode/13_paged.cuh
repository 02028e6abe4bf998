// paged: the caches lie in pages, and a table says where; only the newest tokens may
// count.
//
// A server gives a sequence memory as it grows, a page at a time, and takes it back at its end. A
// lane looks up the row of one key, a step before the copy that needs it, and the first rows all at
// once: a copy that waited for its own number would come a trip to memory later. Pages lie anywhere
// and come faster if fewer are asked for at a time: many warps, two stages each. What is still
// wrong: the cut is that of the longest sequence, and where others are shorter, blocks are idle.
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
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/ptx/mma.cuh"

namespace decode {

template <class T, int kD, int kW>
__global__ void __launch_bounds__(32 * kW)
    paged_kernel(Tensors<T> t, Shape shape, Cache cache, Chunks chunks) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  extern __shared__ __align__(128) uint4 dynamic_chunks[];
  auto& shared = *reinterpret_cast<ShallowRings<kD, kTensorRows, kW>*>(dynamic_chunks);
  const int warp = threadIdx.x / 32;

  // A shorter sequence has fewer parts than the longest.
  const std::int64_t at = blockIdx.x / chunks.count;
  const auto work = shape.work_tile(at, kTensorRows);
  const int sequence = static_cast<int>(work.kv_head) / static_cast<int>(shape.kv_heads);
  const int end = cache.end(sequence), first = cache.window < shape.n ? cache.first_of(end) : 0;
  const auto part = part_of(work, at, chunks, first, end);

  // region pages
  // Without a window the first lookups do not wait for the sequence's length.
  const auto row_of = [&](int key) { return cache.row(shape, work.kv_head, key); };
  const Lookups lookups(shared.rings, part, row_of);
  if (part.count == 0) return;

  TensorRows<T, kD> rows;
  const auto add = [&](const auto& stage, int seen) { rows.add(stage.k, stage.v, seen); };
  const auto start = [&] {
    cache.prefetch_table<32 * kW>(sequence, part.begin, part.end);
    rows.start(t.q + work.first_row * kD, work.count, shape.scale());
  };
  attend(shared.rings, lookups, t, add, start, ptx::createpolicy_evict_first());
  // endregion

  rows.store_part(part.work.count, shared.parts.o[warp], shared.parts.lse2[warp]);
  __syncthreads();
  finish_part(shared.parts, part, chunks, t);
#endif
}

// Device pointers, aligned to 16 bytes.
template <class T>
void paged(const Shape& shape, const Tensors<T>& t, const Cache& cache, const Scratch& scratch,
           cudaStream_t stream) {
  attention::with_head_dim(shape.d, [&](auto head_dim) {
    const std::int64_t work_tiles = shape.work_tiles(kTensorRows);
    // The newest tokens are cut as if there were no others; one block per SM, as in `tensor`.
    Shape seen = shape;
    seen.n = std::min(shape.n, cache.window);
    const Chunks chunks = cut_cache(seen, work_tiles, kit::multiprocessor_count(), scratch);
    const auto blocks = static_cast<unsigned>(work_tiles * chunks.count);
    with_warps<head_dim, kTensorRows>(blocks, chunks.keys, shape.group(), [&](auto warps) {
      constexpr int kShared = sizeof(ShallowRings<head_dim, kTensorRows, warps>);
      const auto kernel = paged_kernel<T, head_dim, warps>;
      kit::allow_shared(kernel, kShared);
      kernel<<<blocks, 32 * warps, kShared, stream>>>(t, shape, cache, chunks);
      CUDA_CHECK(cudaGetLastError());
    });
  });
}

}  // namespace decode
