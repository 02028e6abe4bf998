// Chunks: a cache cut along its tokens, so that there is work for every SM.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
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
// row is a part: o is [rows][count][d], lse2 is [rows][count]. tickets: a counter for each share.
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

// How to cut n keys, if there are `shares` blocks to a chunk and the device holds `resident` blocks
// at once (a wave). Blocks that are not a multiple of a wave leave SMs without work in the last
// one, and each chunk costs a part to be merged: as few chunks as reach nineteen twentieths of the
// best use of the waves.
inline int choose_keys(std::int64_t shares, int n, int resident) {
  // How full the waves are; the chunks that a count leads to may be fewer than it asks for.
  const auto use_of = [&](int count) {
    const int chunks = kit::divide_up(n, keys_of_chunk(n, count));
    const double waves = static_cast<double>(shares) * chunks / resident;
    return waves / std::ceil(waves);
  };
  // More than four waves are not worth a look: this runs at each launch.
  const auto in_four_waves = static_cast<int>(std::max<std::int64_t>(1, 4 * resident / shares));
  const int most = std::min(kit::divide_up(n, kLeastKeys), in_four_waves);
  double best = 0;
  for (int count = 1; count <= most; ++count) best = std::max(best, use_of(count));
  int count = 1;
  while (use_of(count) < 0.95 * best) ++count;
  return keys_of_chunk(n, count);
}

// The same, but chunks make no second wave, even if some SMs have no block then. (More shares than
// `resident` make one.)
inline int choose_keys_of_one_wave(std::int64_t shares, int n, int resident) {
  return keys_of_chunk(n, std::max(1, static_cast<int>(resident / shares)));
}

// The cache of each share, cut into chunks of `keys` keys, with room for the parts.
inline Chunks chunks_of(const Shape& shape, std::int64_t shares, int keys, const Scratch& scratch) {
  const int count = kit::divide_up(shape.n, keys);
  const std::int64_t parts = shape.rows() * count;
  float* floats = scratch.floats(parts * (shape.d + 1));
  return {keys, count, floats, floats + parts * shape.d, scratch.tickets(shares)};
}

// The same, cut for `resident` blocks.
inline Chunks cut_cache(const Shape& shape, std::int64_t shares, int resident,
                        const Scratch& scratch) {
  return chunks_of(shape, shares, choose_keys(shares, shape.n, resident), scratch);
}

}  // namespace decode
