// The tiles of queries of all sequences in one list, by how many tiles of keys they see.
//
// A small kernel makes it, since the lengths lie on the device: a counting sort by one block. The
// list is the same for all layers of a model.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "07_flash_attention/kit/tile_scheduler.cuh"
#include "07_flash_attention/prefill/kit/key_tiles.cuh"
#include "07_flash_attention/prefill/shape.hpp"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/ptx/grid.cuh"
#include "common/kit/workspace.cuh"

namespace prefill {

// Some neighbouring queries of a sequence, from its query `first_query` on.
struct alignas(16) QueryTile {
  Sequence sequence;
  int first_query, unused[3];
};

#if defined(__CUDA_ARCH__)
// What the producer has left in shared memory, for all lanes of a warp. Only lane 0 reads it, for
// it is the one that arrives at q_empty for its warp: after that the producer writes again.
template <class Ints>
__device__ __forceinline__ Ints read_by_lane_0(const Ints& shared) {
  Ints all;
#pragma unroll
  for (int i = 0; i < static_cast<int>(sizeof(Ints) / 4); ++i) {
    const int read = threadIdx.x % 32 == 0 ? reinterpret_cast<const int*>(&shared)[i] : 0;
    reinterpret_cast<int*>(&all)[i] = __shfl_sync(0xffffffffu, read, 0);
  }
  return all;
}
#endif

// The tiles, those with least to do first, and how many there are.
struct TileList {
  int* count;
  QueryTile* tiles;
};

constexpr int kListThreads = 1024;  // and classes

// One block. queries: of a tile. Tiles are sorted by how many tiles of keys they meet; `of_a_class`
// neighbouring numbers count as one class, of which tiles come in any order.
template <int kTileN>
__global__ void __launch_bounds__(kListThreads)
    tile_list_kernel(TileList list, Shape shape, Starts starts, int queries, int of_a_class) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  ptx::griddepcontrol_launch_dependents();
#endif
  __shared__ int places[kListThreads];
  places[threadIdx.x] = 0;
  __syncthreads();

  // So many threads share the tiles of a sequence.
  const int thread = threadIdx.x, width = shape.batch <= 32 ? 32 : 4;
  const auto each_tile = [&](auto visit) {
    for (int i = thread / width; i < shape.batch; i += kListThreads / width) {
      const Sequence sequence = starts.sequence(i);
      const Visibility seen = shape.visibility(sequence);
      for (int first = thread % width * queries; first < sequence.n_q; first += width * queries) {
        const auto keys = key_tiles<kTileN>(seen, first, min(first + queries, sequence.n_q) - 1);
        visit(QueryTile{sequence, first, {}}, max(0, keys.end - keys.begin) / of_a_class);
      }
    }
  };
  each_tile([&](const QueryTile&, int c) { atomicAdd(&places[c], 1); });
  __syncthreads();
  // Sums of the classes up to each: where it ends.
  for (int step = 1; step < kListThreads; step *= 2) {
    const int before = thread >= step ? places[thread - step] : 0;
    __syncthreads();
    places[thread] += before;
    __syncthreads();
  }
  if (thread == 0) *list.count = places[kListThreads - 1];
  __syncthreads();
  each_tile([&](const QueryTile& tile, int c) { list.tiles[atomicSub(&places[c], 1) - 1] = tile; });
}

// The most tiles that there can be: of each sequence one may be cut off.
inline int most_query_tiles(const Shape& shape, int queries) {
  return shape.q_tokens / queries + std::min(shape.batch, shape.q_tokens);
}

// The list of a launch in this stream.
template <int kTileN>
TileList make_tile_list(const Shape& shape, const Starts& starts, int queries,
                        const kit::Workspace& workspace, cudaStream_t stream) {
  auto* const tiles = workspace.get<QueryTile>(most_query_tiles(shape, queries) + 1);
  const TileList list{reinterpret_cast<int*>(tiles), tiles + 1};
  const int of_a_class = kit::divide_up(shape.k_tokens, kTileN) / kListThreads + 1;
  tile_list_kernel<kTileN>
      <<<1, kListThreads, 0, stream>>>(list, shape, starts, queries, of_a_class);
  CUDA_CHECK(cudaGetLastError());
  return list;
}

// In which order tiles of the list and heads are computed: as many heads at a time as have their
// keys and values in 16 MB of the L2 cache, as in the forward pass. heads: as many as begin a tile
// of their own.
inline attention::TileOrder order_of_heads(const Shape& shape, int heads) {
  const double bytes = 4.0 * shape.kv_heads * shape.d * std::max(1, shape.k_tokens) / heads;
  const double most = std::clamp((16 << 20) / bytes, 1.0, static_cast<double>(heads));
  return attention::TileOrder::of(heads, 0, static_cast<int>(most));  // the list has the tiles
}

}  // namespace prefill
