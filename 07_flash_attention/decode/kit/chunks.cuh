// Chunks: a cache cut along its tokens, so that there is work for every SM; and how their parts
// become one in the same launch: the block of a work tile that happens to finish last merges what
// all of them have left.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cuda/atomic>
#include <functional>

#include "07_flash_attention/decode/kit/parts.cuh"
#include "07_flash_attention/decode/shape.hpp"
#include "common/kit/launch.cuh"

namespace decode {

constexpr int kLeastKeys = 64;  // of a chunk, which has a multiple of it

// Device memory that a launch works in beside its tensors; the next one may use it again after it.
// floats(n): n floats. tickets(n): n counters, zeros before and after each launch.
struct Scratch {
  std::function<float*(std::int64_t)> floats;
  std::function<unsigned*(std::int64_t)> tickets;
};

// `count` chunks of `keys` keys each, of which the last may have fewer. What a chunk leaves of each
// row is a part: o is [rows][count][d], lse2 is [rows][count]. tickets: a counter for each work
// tile.
struct Chunks {
  int keys, count;
  float *o, *lse2;
  unsigned* tickets;

  // Stores part `at` of all; by a warp.
  template <int kD>
  __device__ void store(std::int64_t at, const Merged<kD>& part) const {
    OfLane<float, kD>::in(o + at * kD) = part.o;
    if (threadIdx.x % 32 == 0) lse2[at] = part.lse2;
  }
  // The `parts` parts of a row, which begin at `first`; by a warp. kRegisters: as merge_parts.
  template <int kD, int kRegisters>
  __device__ Merged<kD> merge(std::int64_t first, int parts) const {
    return merge_parts<kD, kRegisters>(
        parts, [&](int i) { return o + (first + i) * kD; }, [&](int i) { return lse2[first + i]; });
  }
};

// The keys of a chunk, if n are cut into about `count`.
inline int keys_of_chunk(int n, int count) {
  return std::max(1, kit::divide_up(kit::divide_up(n, count), kLeastKeys)) * kLeastKeys;
}

// How to cut n keys, if there are `work_tiles` blocks to a chunk and the device holds `resident`
// blocks at once (a wave). Blocks that are not a multiple of a wave leave SMs without work in the
// last one, and each chunk costs a part to be merged: as few chunks as fill the waves to 95 % of
// the best that any count does.
inline int choose_keys(std::int64_t work_tiles, int n, int resident) {
  // How full the waves are; the chunks that a count leads to may be fewer than it asks for.
  const auto use_of = [&](int count) {
    const int chunks = kit::divide_up(n, keys_of_chunk(n, count));
    const double waves = static_cast<double>(work_tiles) * chunks / resident;
    return waves / std::ceil(waves);
  };
  // More than four waves are not worth a look: this runs at each launch.
  const auto in_four_waves = static_cast<int>(std::max<std::int64_t>(1, 4 * resident / work_tiles));
  const int most = std::min(kit::divide_up(n, kLeastKeys), in_four_waves);
  double best = 0;
  for (int count = 1; count <= most; ++count) best = std::max(best, use_of(count));
  int count = 1;
  while (use_of(count) < 0.95 * best) ++count;
  return keys_of_chunk(n, count);
}

// The same, but chunks make no second wave, even if some SMs have no block then. (More work tiles
// than `resident` make one.)
inline int choose_keys_of_one_wave(std::int64_t work_tiles, int n, int resident) {
  return keys_of_chunk(n, std::max(1, static_cast<int>(resident / work_tiles)));
}

// The cache of each work tile, cut into chunks of `keys` keys, with room for the parts.
inline Chunks chunks_of(const Shape& shape, std::int64_t work_tiles, int keys,
                        const Scratch& scratch) {
  const int count = kit::divide_up(shape.n, keys);
  const std::int64_t parts = shape.rows() * count;
  float* floats = scratch.floats(parts * (shape.d + 1));
  return {keys, count, floats, floats + parts * shape.d, scratch.tickets(work_tiles)};
}

// The same, cut for `resident` blocks.
inline Chunks cut_cache(const Shape& shape, std::int64_t work_tiles, int resident,
                        const Scratch& scratch) {
  return chunks_of(shape, work_tiles, choose_keys(work_tiles, shape.n, resident), scratch);
}

// What a block does: part `number` of `count` of a work tile, the keys from `begin` to `end`.
// first: the place of part 0 of the work tile's first row among all parts; those of its other rows
// follow at distances of Chunks::count.
struct Part {
  WorkTile work;
  unsigned* ticket;
  int number, count, begin, end;
  std::int64_t first;
};

// The part of this block, if every work tile has chunks.count of them, one after the other, of the
// keys from `first` to `last`. A part beyond the last key has count 0; there is always one.
__device__ inline Part part_of(const WorkTile& work, std::int64_t at, const Chunks& chunks,
                               int first, int last) {
  const int number = static_cast<int>(blockIdx.x % chunks.count);
  const int count = max(1, (last - first + chunks.keys - 1) / chunks.keys);
  const int begin = first + number * chunks.keys;
  return {work,
          chunks.tickets + at,
          number,
          number < count ? count : 0,
          begin,
          min(last, begin + chunks.keys),
          work.first_row * chunks.count};
}

// The block's warps have left their parts in shared memory: merges these, stores the block's part,
// and if no other is missing any more, merges all of the work tile. By all threads of the block.
// kRegisters: as merge_parts, for parts in global memory. A kernel that needs many blocks on an SM
// gives few.
template <int kRegisters = 64, int kD, int kQueries, int kW, class T>
__device__ void finish_part(const WarpParts<kD, kQueries, kW>& warps, const Part& part,
                            const Chunks& chunks, const Tensors<T>& t) {
  const int warp = threadIdx.x / 32;
  for (int row = warp; row < part.work.count; row += kW) {
    const Merged<kD> merged = merge_warps(warps, row);
    if (part.count == 1) {
      store_result(t, part.work.first_row + row, merged);
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

  for (int row = warp; row < part.work.count; row += kW) {
    store_result(t, part.work.first_row + row,
                 chunks.merge<kD, kRegisters>(part.first + row * chunks.count, part.count));
  }
}

}  // namespace decode
