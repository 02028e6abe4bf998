// How keys and values reach a warp: a ring of stages of its own in shared memory, each with sixteen
// keys and their values, filled by cp.async while it works on earlier ones; and what a block may do
// for its first stage before the launch ahead of its own has ended (sm_90).
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "07_flash_attention/decode/kit/chunks.cuh"
#include "07_flash_attention/decode/kit/parts.cuh"
#include "07_flash_attention/decode/shape.hpp"
#include "common/kit/launch.cuh"
#include "common/kit/ptx/grid.cuh"
#include "common/kit/ptx/mma.cuh"
#include "common/kit/ptx/prefetch.cuh"
#include "common/kit/swizzle.cuh"

namespace decode {

constexpr int kStageKeys = 16;

// Rows of 16-byte chunks, swizzled.
template <int kD>
struct Stage {
  uint4 k[kStageKeys * kD / 8], v[kStageKeys * kD / 8];

  static __device__ int place(int key, int chunk) {
    return kit::swizzled_chunk<kD / 8>(key, chunk);
  }
};

// The rings of a block's kW warps, of kS stages each; when these are empty, its parts. It has to
// begin at a multiple of 128 bytes: a row of 256 bytes that begins elsewhere lies in three lines of
// shared memory instead of two.
template <int kD, int kQueries, int kW = kWarps, int kS = kD == 256 ? 2 : 384 / kD>
union alignas(128) RingShared {
  static constexpr int kStages = kS;  // unless told otherwise 24 KB per warp, or 32
  Stage<kD> rings[kW][kStages];
  WarpParts<kD, kQueries, kW> parts;
};

// For keys in pages: those that lie anywhere come faster if fewer are asked for at a time.
template <int kD, int kQueries, int kW>
using ShallowRings = RingShared<kD, kQueries, kW, 2>;

// Warps of a block with such rings, of which two or more share an SM. One that has it to itself
// gets twice as many, unless these are enough: each leaves a part to be merged, too.
template <int kD>
constexpr int kShallowWarps = kD == 256 ? 3 : 5;

// Calls launch(std::integral_constant<int, kW>()), where kW is how many warps a block gets. The
// fewer ones are enough if each has at most one stage of the block's `keys` keys to work on, and at
// most one of its `rows` rows to merge.
template <int kD, int kQueries, class Launch>
void with_warps(std::int64_t blocks, int keys, int rows, Launch launch) {
  constexpr int kFew = kShallowWarps<kD>, kMany = 2 * kFew;
  constexpr int kShared = sizeof(ShallowRings<kD, kQueries, kMany>);
  const bool has_room = blocks <= kit::multiprocessor_count() && kShared <= kit::most_shared();
  const bool has_work = keys > kFew * kStageKeys || rows > kFew;
  if (has_room && has_work) return launch(std::integral_constant<int, kMany>());
  launch(std::integral_constant<int, kFew>());
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
// Issues the copies of a stage's keys and values. row_of(i): the row of the caches where the i-th
// of its keys lies; below 0 there is none, and zeros stand for it. policy: of L2, if any.
template <int kD, class T, class RowOf, class... Policy>
__device__ void fill(Stage<kD>& stage, const Tensors<T>& t, RowOf row_of, Policy... policy) {
  constexpr int kChunks = kD / 8;
  const int lane = threadIdx.x % 32;
  const auto* k = reinterpret_cast<const uint4*>(t.k) + lane % kChunks;
  const auto* v = reinterpret_cast<const uint4*>(t.v) + lane % kChunks;
#pragma unroll
  for (int i = 0; i < kStageKeys * kChunks / 32; ++i) {
    const int key = lane / kChunks + i * 32 / kChunks;
    const std::int64_t row = row_of(key);
    const int place = stage.place(key, lane % kChunks);
    ptx::cp_async_16(&stage.k[place], k + row * kChunks, row >= 0, policy...);
    ptx::cp_async_16(&stage.v[place], v + row * kChunks, row >= 0, policy...);
  }
}

// The first key of the warp's stage `step`: the block's kW warps take sixteen at a time in turn.
template <int kW>
__device__ int first_key(const Part& part, int step) {
  return part.begin + (step * kW + static_cast<int>(threadIdx.x) / 32) * kStageKeys;
}

// Where the keys of a warp's stages lie: lane l knows it of key l % 16 of each. At the beginning
// the first kStages are looked up, all at once, and found[i] is for stage i. Later ones are looked
// up a step before their copies are issued, and only the last of `found` is used. row_of(key): the
// row of the caches where a key lies, in 32 bits. It is asked for keys behind the part's end, too:
// then any will do, but what it reads must be there.
template <int kW, int kStages, class RowOf>
struct Lookups {
  const Part& part;
  RowOf row_of;
  int found[kStages];

  template <int kD>
  __device__ Lookups(const Stage<kD> (&)[kW][kStages], const Part& part, RowOf row_of)
      : part(part), row_of(row_of) {
#pragma unroll
    for (int step = 0; step < kStages; ++step) found[step] = find(step);
  }
  // No `if` around row_of: the compiler would put all uses of the loaded value inside it too, and
  // the thread would wait for the load there.
  __device__ int find(int step) const {
    const int key = first_key<kW>(part, step) + threadIdx.x % kStageKeys, row = row_of(key);
    return key < part.end ? row : -1;
  }
  // The row of key `key` of the stage that found[i] is for, or below 0; by all lanes.
  __device__ int row(int i, int key) const { return __shfl_sync(0xffffffff, found[i], key); }
};

struct Nothing {
  __device__ void operator()() const {}
};

// Takes a warp through its part's keys.
// add(stage, seen) is called when the keys of a stage are there; only the first `seen` count.
// start() is called when the first copies are on their way. policy: as fill.
template <int kD, int kStages, int kW, class T, class RowOf, class Add, class Start = Nothing,
          class... Policy>
__device__ void attend(Stage<kD> (&rings)[kW][kStages], Lookups<kW, kStages, RowOf> lookups,
                       const Tensors<T>& t, Add add, Start start = {}, Policy... policy) {
  const Part& part = lookups.part;
  auto& ring = rings[threadIdx.x / 32];
  const auto issue = [&](int step, int i) {
    const auto row_of = [&](int key) { return lookups.row(i, key); };
    if (first_key<kW>(part, step) < part.end) fill(ring[step % kStages], t, row_of, policy...);
    ptx::cp_async_commit();
  };

  // While a stage is worked on, those after it are in flight.
  for (int step = 0; step < kStages - 1; ++step) issue(step, step);
  start();
  for (int step = 0; first_key<kW>(part, step) < part.end; ++step) {
    ptx::cp_async_wait<kStages - 2>();
    __syncwarp();  // the copies of all lanes are there, and nobody reads the stage before any more
    issue(step + kStages - 1, kStages - 1);
    lookups.found[kStages - 1] = lookups.find(step + kStages);
    add(ring[step % kStages], part.end - first_key<kW>(part, step));
  }
  __syncthreads();  // all rings are empty: parts may take their place
}
#endif

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
// Has L2 fetch what fill would copy. Changes nothing, and can be done before anybody may read it.
template <int kD, class T, class RowOf>
__device__ void prefetch_stage(const Tensors<T>& t, RowOf row_of) {
  constexpr int kEach = 128 / sizeof(T), kLines = kD / kEach;  // elements of a line, lines of a row
#pragma unroll
  for (int i = 0; i < 2 * kStageKeys * kLines / 32; ++i) {
    const int at = i * 32 + threadIdx.x % 32;  // of the lines of the keys, then of the values
    const std::int64_t row = row_of(at / kLines % kStageKeys);
    const T* from = at < kStageKeys * kLines ? t.k : t.v;
    if (row >= 0) ptx::prefetch_l2(from + row * kD + at % kLines * kEach);
  }
}

// Has L2 fetch what the first stage will be filled with, no more, and waits until it may be read.
// row_of: as that of fill.
template <int kD, class T, class RowOf>
__device__ void prefetch_before_wait(const Tensors<T>& t, RowOf row_of) {
  prefetch_stage<kD>(t, row_of);
  ptx::griddepcontrol_wait();
}
#endif

}  // namespace decode
