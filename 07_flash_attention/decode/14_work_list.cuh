// work_list: sequences of different lengths are cut into chunks of one length, and blocks
// take them from a list, the longest first.
//
// A small kernel ahead adds up the lengths, which lie on the device, and makes the list: two chunks
// for each block that fits, whichever sequence they are from, and what is left of each sequence at
// its end, so that the last blocks have the least to do. What is still wrong: the list takes a
// launch. (A server makes it once for all layers of its model.)
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

// Which part of which sequence is whose; in scratch memory.
struct WorkList {
  int *keys, *count;  // of a chunk; of the list
  int2* items;        // (sequence, number of the part)
  int* first;         // of each sequence: the place of its part 0

  // What an item is of work tile `at` of its sequence.
  __device__ Part part_of(int item, int at, const Shape& shape, const Chunks& chunks,
                          const Cache& cache) const {
    const int sequence = items[item].x, number = items[item].y;
    const int begin = cache.first(sequence), end = cache.end(sequence);
    const int own = begin + number * *keys, parts = max(1, (end - begin + *keys - 1) / *keys);
    const std::int64_t work_at = shape.work_tiles(kTensorRows) / shape.batch * sequence + at;
    const auto work = shape.work_tile(work_at, kTensorRows);
    const std::int64_t place = work.first_row % shape.heads * chunks.count + first[sequence];
    return {work, chunks.tickets + work_at, number, parts, own, min(end, own + *keys), place};
  }
};

constexpr int kPlanThreads = 256;
constexpr int kRests = 8;  // classes of items shorter than a chunk, an eighth of it apart

// One block. `wanted`: how many chunks to make of all tokens together, about.
static __global__ void __launch_bounds__(kPlanThreads)
    plan_kernel(WorkList list, Cache cache, int batch, int wanted) {
  __shared__ unsigned long long tokens;
  __shared__ int places[kRests + 1], next_part;
  if (threadIdx.x == 0) tokens = next_part = 0;
  if (threadIdx.x <= kRests) places[threadIdx.x] = 0;
  __syncthreads();

  // The length of a chunk follows from the sum of all lengths.
  for (int s = threadIdx.x; s < batch; s += kPlanThreads) {
    atomicAdd(&tokens, static_cast<unsigned long long>(cache.end(s) - cache.first(s)));
  }
  __syncthreads();
  const auto parts = static_cast<unsigned long long>(wanted) * kLeastKeys;
  const int keys = max(1, static_cast<int>((tokens + parts - 1) / parts)) * kLeastKeys;

  // region list
  // A counting sort: whole chunks are class 0, the rest of a sequence is one of the others. One
  // without tokens has an empty rest: somebody must write its result.
  const auto class_of = [&](int rest) { return kRests - rest * kRests / keys; };
  const auto each_sequence = [&](auto visit) {
    for (int s = threadIdx.x; s < batch; s += kPlanThreads) {
      const int length = cache.end(s) - cache.first(s), rest = length % keys;
      visit(s, length / keys, rest, rest > 0 || length == 0);
    }
  };
  each_sequence([&](int, int whole, int rest, bool has_rest) {
    atomicAdd(&places[0], whole);
    if (has_rest) atomicAdd(&places[class_of(rest)], 1);
  });
  __syncthreads();
  // Counts become places: each class begins where the one before ends, and the last sum is the
  // length of the list.
  if (threadIdx.x == 0) {
    int sum = 0;
    for (int& place : places) {
      const int count = place;
      place = sum;
      sum += count;
    }
    *list.count = sum;
    *list.keys = keys;
  }
  __syncthreads();
  // Each item takes the next place of its class.
  each_sequence([&](int s, int whole, int rest, bool has_rest) {
    const int at = atomicAdd(&places[0], whole);
    for (int i = 0; i < whole; ++i) list.items[at + i] = make_int2(s, i);
    if (has_rest) list.items[atomicAdd(&places[class_of(rest)], 1)] = make_int2(s, whole);
    list.first[s] = atomicAdd(&next_part, whole + (has_rest ? 1 : 0));
  });
  // endregion
}

template <class T, int kD, int kW>
__global__ void __launch_bounds__(32 * kW)
    work_list_kernel(Tensors<T> t, Shape shape, Cache cache, Chunks chunks, WorkList list) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  extern __shared__ __align__(128) uint4 dynamic_chunks[];
  auto& shared = *reinterpret_cast<ShallowRings<kD, kTensorRows, kW>*>(dynamic_chunks);
  const int warp = threadIdx.x / 32;
  // The work tiles of an item are neighbours; behind the list's end there is nothing to do.
  const int work_tiles = static_cast<int>(shape.work_tiles(kTensorRows) / shape.batch);
  const int item = static_cast<int>(blockIdx.x) / work_tiles;
  if (item >= *list.count) return;
  const auto part = list.part_of(item, blockIdx.x % work_tiles, shape, chunks, cache);

  TensorRows<T, kD> rows;
  const auto row_of = [&](int key) { return cache.row(shape, part.work.kv_head, key); };
  const auto add = [&](const auto& stage, int seen) { rows.add(stage.k, stage.v, seen); };
  const auto start = [&] {
    rows.start(t.q + part.work.first_row * kD, part.work.count, shape.scale());
  };
  const Lookups lookups(shared.rings, part, row_of);
  attend(shared.rings, lookups, t, add, start, ptx::createpolicy_evict_first());

  rows.store_part(part.work.count, shared.parts.o[warp], shared.parts.lse2[warp]);
  __syncthreads();
  finish_part(shared.parts, part, chunks, t);
#endif
}

// Device pointers, aligned to 16 bytes.
template <class T>
void work_list(const Shape& shape, const Tensors<T>& t, const Cache& cache, const Scratch& scratch,
               cudaStream_t stream) {
  attention::with_head_dim(shape.d, [&](auto head_dim) {
    constexpr int kW = kShallowWarps<head_dim>, kBlock = 32 * kW;
    constexpr int kShared = sizeof(ShallowRings<head_dim, kTensorRows, kW>);
    const auto kernel = work_list_kernel<T, head_dim, kW>;
    kit::allow_shared(kernel, kShared);
    const std::int64_t work_tiles = shape.work_tiles(kTensorRows);
    const int of_sequence = static_cast<int>(work_tiles / shape.batch);
    const int resident = kit::resident_blocks(kernel, kBlock, kShared);

    // At most `wanted` whole chunks and a rest of each sequence. In memory the parts of a head are
    // those of all sequences, one after the other.
    const int wanted = std::max(1, 2 * resident / of_sequence);
    const int capacity = wanted + static_cast<int>(shape.batch);
    const std::int64_t parts = shape.heads * capacity, floats = parts * (shape.d + 1);
    float* o = scratch.floats(floats + 3 + 2 * capacity + shape.batch);
    const Chunks chunks{0, capacity, o, o + parts * shape.d, scratch.tickets(work_tiles)};
    int* ints = reinterpret_cast<int*>(o + (floats + 1) / 2 * 2);  // items are pairs
    const WorkList list{ints, ints + 1, reinterpret_cast<int2*>(ints + 2), ints + 2 + 2 * capacity};
    plan_kernel<<<1, kPlanThreads, 0, stream>>>(list, cache, static_cast<int>(shape.batch), wanted);
    CUDA_CHECK(cudaGetLastError());
    kernel<<<capacity * of_sequence, kBlock, kShared, stream>>>(t, shape, cache, chunks, list);
    CUDA_CHECK(cudaGetLastError());
  });
}

}  // namespace decode
