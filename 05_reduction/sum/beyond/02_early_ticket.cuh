// early_ticket: the number is drawn at the start, and a partial says itself that it is
// there.
//
// `tuned` ends with two trips to the L2 cache: the partial must be there before the number is
// drawn, and the number must be back before a block may leave. Here a block draws while its loads
// are in flight. Whoever gets the last number started last, so all others run or are done, and may
// be waited for; they leave as soon as they have announced their partials. And a thread asks for
// eight float4 before it adds the first, for which the compiler is told to keep the registers.
#pragma once

#include <cuda_runtime.h>
#include <cuda/atomic>

#include <algorithm>
#include <cstdint>

#include "05_reduction/kit/operators.cuh"
#include "05_reduction/sum/kit/announcements.cuh"
#include "05_reduction/sum/kit/reduce.cuh"
#include "05_reduction/sum/kit/tiles.cuh"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"

namespace reduction {

constexpr int kEarlyLoads = 8;                             // float4 per thread and tile
constexpr int kEarlyTile = 4 * kTunedBlock * kEarlyLoads;  // floats

// Two blocks per SM are enough. Left alone, the compiler makes room for four and gives up the
// registers that eight loads at once need.
template <class Op>
__global__ void __launch_bounds__(kTunedBlock, 2)
    sum_early_ticket_kernel(const float* x, typename Op::Value* result, std::int64_t n,
                            int tiles_per_block, std::uint64_t* words, unsigned* counter) {
  __shared__ bool is_last;
  const cuda::atomic_ref<unsigned, cuda::thread_scope_device> drawn(*counter);
  unsigned ticket = 0;
  if (threadIdx.x == 0) ticket = drawn.fetch_add(1, cuda::std::memory_order_relaxed);
  auto value = block_reduce<Op, kTunedBlock>(combine_tiles<Op, kEarlyLoads>(x, n, tiles_per_block));
  if (threadIdx.x == 0) {
    announce(value, words + blockIdx.x * kWordsOf<typename Op::Value>);
    is_last = ticket == gridDim.x - 1;
  }
  __syncthreads();
  if (!is_last) return;

  value = collect<Op, kTunedBlock>(words);
  if (threadIdx.x == 0) {
    *result = value;
    drawn.store(0, cuda::std::memory_order_relaxed);  // as relaxed as the draws that came before
  }
}

// The same with a given number of tiles per block; x aligned to 16 bytes.
template <class Op>
void launch_early_ticket(const float* x, typename Op::Value* result, std::int64_t n,
                         int tiles_per_block, std::uint64_t* words, unsigned* counter,
                         cudaStream_t stream) {
  const std::int64_t per_block = static_cast<std::int64_t>(kEarlyTile) * tiles_per_block;
  const std::int64_t blocks = std::max<std::int64_t>(1, (n + per_block - 1) / per_block);
  sum_early_ticket_kernel<Op>
      <<<blocks, kTunedBlock, 0, stream>>>(x, result, n, tiles_per_block, words, counter);
  CUDA_CHECK(cudaGetLastError());
}

// Up to four tiles per block, if each SM still gets twelve blocks, one after the other.
inline int tiles_per_early_block(std::int64_t n, int multiprocessors) {
  return static_cast<int>(std::clamp<std::int64_t>(n / kEarlyTile / (12 * multiprocessors), 1, 4));
}

// *result = x[0] combined with ... x[n - 1], the identity for n = 0. Device pointers, x aligned to
// 16 bytes; words: kWordsOf<Value> for each of n / kEarlyTile + 1 blocks. Words and counter are 0
// before and after, and belong to this launch until it has ended: two that share them may wait for
// ever.
template <class Op>
void sum_early_ticket(const float* x, typename Op::Value* result, std::int64_t n,
                      std::uint64_t* words, unsigned* counter, cudaStream_t stream) {
  kit::require_aligned_to_16(x);
  const int tiles_per_block = tiles_per_early_block(n, kit::multiprocessor_count());
  launch_early_ticket<Op>(x, result, n, tiles_per_block, words, counter, stream);
}

}  // namespace reduction
