// One launch: the block of a share that happens to finish last merges what all of them have left.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <cuda/atomic>

#include "07_flash_attention/decode/kit/chunks.cuh"
#include "07_flash_attention/decode/kit/parts.cuh"
#include "07_flash_attention/decode/shape.hpp"

namespace decode {

// What a block does: part `number` of `count` of a share, the keys from `begin` to `end`. first:
// the place of part 0 of the share's first row among all parts; those of its other rows follow at
// distances of Chunks::count.
struct Part {
  Share share;
  unsigned* ticket;
  int number, count, begin, end;
  std::int64_t first;
};

// The part of this block, if every share has chunks.count of them, one after the other, of the keys
// from `first` to `last`. A part beyond the last key has count 0; there is always one.
__device__ inline Part part_of(const Share& share, std::int64_t at, const Chunks& chunks, int first,
                               int last) {
  const int number = static_cast<int>(blockIdx.x % chunks.count);
  const int count = max(1, (last - first + chunks.keys - 1) / chunks.keys);
  const int begin = first + number * chunks.keys;
  return {share,
          chunks.tickets + at,
          number,
          number < count ? count : 0,
          begin,
          min(last, begin + chunks.keys),
          share.first_row * chunks.count};
}

// The block's warps have left their parts in shared memory: merges these, stores the block's part,
// and if no other is missing any more, merges all of the share. By all threads of the block.
// kRegisters: as merge_parts, for parts in global memory. A kernel that needs many blocks on an SM
// gives few.
template <int kRegisters = 64, int kD, int kQueries, int kW, class T>
__device__ void finish_part(const WarpParts<kD, kQueries, kW>& warps, const Part& part,
                            const Chunks& chunks, const Tensors<T>& t) {
  const int warp = threadIdx.x / 32;
  for (int row = warp; row < part.share.count; row += kW) {
    const Merged<kD> merged = merge_warps(warps, row);
    if (part.count == 1) {
      store_result(t, part.share.first_row + row, merged);
    } else {
      chunks.store(part.first + row * chunks.count + part.number, merged);
    }
  }
  if (part.count == 1) return;

  // After the barrier one thread speaks for all: the block's part comes before the number that it
  // draws (release), the parts of the others after it (acquire). The second barrier tells
  // everybody, without a flag in shared memory that would stand before the ring.
  bool is_last = false;
  __syncthreads();
  if (threadIdx.x == 0) {
    const cuda::atomic_ref<unsigned, cuda::thread_scope_device> drawn(*part.ticket);
    is_last = drawn.fetch_add(1, cuda::std::memory_order_acq_rel) == part.count - 1u;
    if (is_last) *part.ticket = 0;
  }
  if (!__syncthreads_or(is_last)) return;

  for (int row = warp; row < part.share.count; row += kW) {
    store_result(t, part.share.first_row + row,
                 chunks.merge<kD, kRegisters>(part.first + row * chunks.count, part.count));
  }
}

}  // namespace decode
