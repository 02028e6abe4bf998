// Rung 13, paged: the caches lie in pages, and a table says where; only the newest tokens may
// count.
//
// A server gives a sequence memory as it grows, a page at a time, and takes it back at its end. A
// lane looks up the row of one key, a step before the copy that needs it: by the time the copy is
// issued the number has come. A page of one token costs one number of 4 bytes for each key and
// value of 512. Tokens before the window are never asked for. What is still wrong: the cut is that
// of the longest sequence, and where others are shorter, blocks have nothing to do.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "07_flash_attention/decode/kit/chunks.cuh"
#include "07_flash_attention/decode/kit/key_ring.cuh"
#include "07_flash_attention/decode/kit/last_block.cuh"
#include "07_flash_attention/decode/kit/parts.cuh"
#include "07_flash_attention/decode/kit/tensor_rows.cuh"
#include "07_flash_attention/decode/shape.hpp"
#include "07_flash_attention/shape.hpp"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"

namespace decode {

template <class T, int kD>
__global__ void __launch_bounds__(kThreads)
    paged_kernel(Tensors<T> t, Shape shape, Cache cache, Chunks chunks) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  extern __shared__ __align__(128) uint4 dynamic_chunks[];
  auto& shared = *reinterpret_cast<RingShared<kD, kTensorRows>*>(dynamic_chunks);
  const int warp = threadIdx.x / 32;
  // region pages
  // A shorter sequence has fewer parts than the longest.
  const std::int64_t at = blockIdx.x / chunks.count;
  const auto share = shape.share(at, kTensorRows);
  const std::int64_t sequence = share.kv_head / shape.kv_heads;
  const auto part = part_of(share, at, chunks, cache.first(sequence), cache.end(sequence));
  if (part.count == 0) return;
  const auto row_of = [&](int key) { return cache.row(shape, share.kv_head, key); };
  // endregion

  TensorRows<T, kD> rows;
  rows.start(t.q + share.first_row * kD, share.count, shape.scale());
  attend(shared.rings, part, t, row_of,
         [&](const auto& stage, int seen) { rows.add(stage.k, stage.v, seen); });

  rows.store_part(share.count, shared.parts.o[warp], shared.parts.lse2[warp]);
  __syncthreads();
  finish_part(shared.parts, part, chunks, t);
#endif
}

// Device pointers, aligned to 16 bytes.
template <class T>
void paged(const Shape& shape, const Tensors<T>& t, const Cache& cache, const Scratch& scratch,
           cudaStream_t stream) {
  attention::with_head_dim(shape.d, [&](auto head_dim) {
    const auto kernel = paged_kernel<T, head_dim>;
    constexpr int kShared = sizeof(RingShared<decltype(head_dim)::value, kTensorRows>);
    kit::allow_shared(kernel, kShared);
    const std::int64_t shares = shape.shares(kTensorRows);
    const int resident = kit::resident_blocks(kernel, kThreads, kShared);
    Shape seen = shape;
    seen.n = std::min(shape.n, cache.window);
    const Chunks chunks = cut_cache(seen, shares, resident, scratch);
    const auto blocks = static_cast<unsigned>(shares * chunks.count);
    kernel<<<blocks, kThreads, kShared, stream>>>(t, shape, cache, chunks);
    CUDA_CHECK(cudaGetLastError());
  });
}

}  // namespace decode
