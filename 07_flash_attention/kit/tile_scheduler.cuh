// A tile scheduler for persistent blocks: who computes the next tile of queries, and which one it
// is.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>

#include "07_flash_attention/shape.hpp"
#include "common/kit/launch.cuh"

namespace attention {

// For each of 64 launches side by side: [0] tiles handed out besides the first of each block, [1]
// blocks that are done. The last block leaves both at 0.
static __device__ int tile_counters[64][2];

// Hands out the numbers of tiles, first come, first served.
struct TileCounter {
  int* counts;

  // For one launch.
  static TileCounter of_launch() {
    static kit::WorkspaceRing slots(tile_counters);
    return {*slots.next()};
  }

#if defined(__CUDA_ARCH__)
  // The next tile. A block's first one is that with its own number.
  __device__ __forceinline__ int next() const {
    return static_cast<int>(gridDim.x) + atomicAdd(counts, 1);
  }

  // By the thread that asked for tiles, when it has been told that there are no more.
  __device__ __forceinline__ void leave() const {
    __threadfence();
    if (atomicAdd(&counts[1], 1) != static_cast<int>(gridDim.x) - 1) return;
    __threadfence();  // all that the others asked for comes before
    counts[0] = 0;
    counts[1] = 0;
  }
#endif
};

// Tile t of all, in the order in which they are begun. Without a causal mask: head by head, so that
// blocks that run at the same time read the same keys and values, from the L2 cache. With one, the
// last queries of a head see most keys: the longest tiles go first and the short ones fill the gaps
// at the end. As many heads at a time as fit into the cache, in groups whose sizes differ by one at
// most: a small last group would leave long tiles to the end.
struct TileOrder {
  int heads, q_tiles;
  int group, full_groups;  // these groups have `group` heads, those after them one less

  static TileOrder of(int heads, int q_tiles, int most_heads_a_group) {
    const int groups = kit::divide_up(heads, most_heads_a_group);
    const int group = kit::divide_up(heads, groups);
    return {heads, q_tiles, group, heads - (group - 1) * groups};
  }
  static TileOrder of(const Shape& shape, int queries) {
    constexpr double kCacheBytes = 16 << 20;  // well below the L2 cache of an H100, 52 MB
    const int heads = static_cast<int>(shape.all_heads());
    const double head_bytes = 4.0 * static_cast<double>(shape.n_k) * shape.d;  // K and V
    return of(heads, kit::divide_up(shape.n_q, queries),
              static_cast<int>(std::clamp(kCacheBytes / head_bytes, 1.0, 1.0 * heads)));
  }
  __host__ __device__ int count() const { return heads * q_tiles; }

  // region locate
  // The head and, of its tiles, the index.
  template <bool kCausal>
  __host__ __device__ __forceinline__ void locate(int t, int& head, int& q_tile) const {
    if constexpr (kCausal) {
      const int in_full = full_groups * group * q_tiles;
      const bool is_full = t < in_full;
      const int size = is_full ? group : group - 1;  // of the tile's group
      const int rest = is_full ? t : t - in_full;
      const int first_head = (is_full ? 0 : full_groups * group) + rest / (size * q_tiles) * size;
      const int in_group = rest % (size * q_tiles);
      head = first_head + in_group % size;
      q_tile = q_tiles - 1 - in_group / size;
    } else {
      head = t / q_tiles;
      q_tile = t % q_tiles;
    }
  }
  // endregion
};

}  // namespace attention
