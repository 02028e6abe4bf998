// tensor: the queries of a group are the rows of a tensor core's tile.
//
// A group of four is padded to the sixteen rows that mma.sync has: three quarters of the products
// are for nothing, and they are free. Nobody waits for them: at 16 rows a tensor core could take in
// K and V some ten times as fast as memory delivers them. Conversions, sums of lanes and most of
// the exponentials are gone, whatever the size of the group up to sixteen. What is still wrong:
// with few sequences, handing over the parts takes longer than reading the keys.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/decode/kit/chunks.cuh"
#include "07_flash_attention/decode/kit/key_ring.cuh"
#include "07_flash_attention/decode/kit/parts.cuh"
#include "07_flash_attention/decode/kit/tensor_rows.cuh"
#include "07_flash_attention/decode/shape.hpp"
#include "07_flash_attention/shape.hpp"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"

namespace decode {

template <class T, int kD>
__global__ void __launch_bounds__(kThreads)
    tensor_kernel(Tensors<T> t, Shape shape, Chunks chunks) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  extern __shared__ __align__(128) uint4 dynamic_chunks[];
  auto& shared = *reinterpret_cast<RingShared<kD, kTensorRows>*>(dynamic_chunks);
  const int warp = threadIdx.x / 32;
  const std::int64_t at = blockIdx.x / chunks.count;  // of the work tiles
  const Part part = part_of(shape.work_tile(at, kTensorRows), at, chunks, 0, shape.n);

  TensorRows<T, kD> rows;
  rows.start(t.q + part.work.first_row * kD, part.work.count, shape.scale());
  const std::int64_t first = part.work.kv_head * shape.n;
  const Lookups lookups(shared.rings, part, [first](int key) { return first + key; });
  attend(shared.rings, lookups, t,
         [&](const auto& stage, int seen) { rows.add(stage.k, stage.v, seen); });

  rows.store_part(part.work.count, shared.parts.o[warp], shared.parts.lse2[warp]);
  __syncthreads();
  finish_part(shared.parts, part, chunks, t);
#endif
}

// Device pointers, aligned to 16 bytes.
template <class T>
void tensor(const Shape& shape, const Tensors<T>& t, const Scratch& scratch, cudaStream_t stream) {
  attention::with_head_dim(shape.d, [&](auto head_dim) {
    const auto kernel = tensor_kernel<T, head_dim>;
    constexpr int kShared = sizeof(RingShared<decltype(head_dim)::value, kTensorRows>);
    kit::allow_shared(kernel, kShared);
    const std::int64_t work_tiles = shape.work_tiles(kTensorRows);
    // Two blocks fit on an SM, but one has bytes enough in flight, and half as many parts.
    const Chunks chunks = cut_cache(shape, work_tiles, kit::multiprocessor_count(), scratch);
    const auto blocks = static_cast<unsigned>(work_tiles * chunks.count);
    kernel<<<blocks, kThreads, kShared, stream>>>(t, shape, chunks);
    CUDA_CHECK(cudaGetLastError());
  });
}

}  // namespace decode
