// tuned: `single_pass` in a shape that was tuned on an H200.
//
// What decides is how many bytes each SM has asked for and not yet got. A thread asks for four
// float4 before it adds the first; a block of 512 threads reads tiles of 32 KB, up to four in a
// row. Blocks are not made to stay: a new one starts while others still wait, and its loads fill
// the gap that the tree of a finished block leaves. `--sweep tiles` shows more and fewer tiles. The
// number is drawn with just the order it needs, less than the two full fences of `single_pass`.
// What is still wrong: a block may leave only after two trips to the L2 cache in a row.
#pragma once

#include <cuda_runtime.h>
#include <cuda/atomic>

#include <algorithm>
#include <cstdint>

#include "05_reduction/kit/operators.cuh"
#include "05_reduction/sum/kit/reduce.cuh"
#include "05_reduction/sum/kit/tiles.cuh"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"

namespace reduction {

constexpr int kTunedLoads = 4;                             // float4 per thread and tile
constexpr int kTunedTile = 4 * kTunedBlock * kTunedLoads;  // floats

// finish_in_last_block of `single_pass`, with one acquire-release atomic in place of two full
// fences: what this block wrote comes before the number it draws (release), what it reads
// afterwards after it (acquire). Thread 0 draws, and the barrier extends both to the block.
template <class Op, int kBlock>
__device__ void finish_in_order(typename Op::Value value, typename Op::Value* partials,
                                unsigned* counter, typename Op::Value* result) {
  __shared__ bool is_last;
  if (threadIdx.x == 0) {
    partials[blockIdx.x] = value;
    const cuda::atomic_ref<unsigned, cuda::thread_scope_device> drawn(*counter);
    is_last = drawn.fetch_add(1, cuda::std::memory_order_acq_rel) == gridDim.x - 1;
  }
  __syncthreads();
  if (!is_last) return;

  value = Op::identity();
  for (unsigned i = threadIdx.x; i < gridDim.x; i += kBlock) {
    value = Op::combine(value, partials[i]);
  }
  value = block_reduce<Op, kBlock>(value);
  if (threadIdx.x == 0) {
    *result = value;
    *counter = 0;
  }
}

template <class Op>
__global__ void __launch_bounds__(kTunedBlock)
    sum_tuned_kernel(const float* x, typename Op::Value* result, std::int64_t n,
                     int tiles_per_block, typename Op::Value* partials, unsigned* counter) {
  const auto value =
      block_reduce<Op, kTunedBlock>(combine_tiles<Op, kTunedLoads>(x, n, tiles_per_block));
  finish_in_order<Op, kTunedBlock>(value, partials, counter, result);
}

// The same with a given number of tiles per block; x aligned to 16 bytes.
template <class Op>
void launch_tuned(const float* x, typename Op::Value* result, std::int64_t n, int tiles_per_block,
                  typename Op::Value* partials, unsigned* counter, cudaStream_t stream) {
  const std::int64_t per_block = static_cast<std::int64_t>(kTunedTile) * tiles_per_block;
  const std::int64_t blocks = std::max<std::int64_t>(1, (n + per_block - 1) / per_block);
  sum_tuned_kernel<Op>
      <<<blocks, kTunedBlock, 0, stream>>>(x, result, n, tiles_per_block, partials, counter);
  CUDA_CHECK(cudaGetLastError());
}

// *result = x[0] combined with ... x[n - 1], the identity for n = 0. Device pointers, x aligned to
// 16 bytes; partials: n / kTunedTile + 1 values; counter: 0 before and after.
template <class Op>
void sum_tuned(const float* x, typename Op::Value* result, std::int64_t n,
               typename Op::Value* partials, unsigned* counter, cudaStream_t stream) {
  kit::require_aligned_to_16(x);
  const std::int64_t for_two_each = n / kTunedTile / (2 * kit::multiprocessor_count());
  const int tiles_per_block = static_cast<int>(std::clamp<std::int64_t>(for_two_each, 1, 4));
  launch_tuned<Op>(x, result, n, tiles_per_block, partials, counter, stream);
}

}  // namespace reduction
