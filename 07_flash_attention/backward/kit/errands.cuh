// Errands for warps that neither multiply nor feed: D and zeros for dQ, for heads whose tiles of
// keys come later.
//
// Such a warp has 24 registers. So TMA brings O and dO to shared memory, and writes the zeros from
// there: of what is read only the log-sum-exp waits in registers. An errand is 4096 elements of a
// head, 8 KB of O and of dO, 16 KB of dQ in fp32. A warp draws it from a counter.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "07_flash_attention/backward/kit/row_stats.cuh"
#include "07_flash_attention/backward/kit/turns.cuh"
#include "07_flash_attention/backward/shape.hpp"
#include "07_flash_attention/shape.hpp"
#include "common/kit/launch.cuh"
#include "common/kit/pipeline.cuh"
#include "common/kit/ptx/tma.cuh"

namespace backward {

constexpr int kErrandElements = 4096, kErrandZeros = 512;

// All errands of a launch: `count`, `of_head` for each K/V head from number `ahead` on, one head
// after the other. What heads before it need is there before the launch. prepared: for each K/V
// head the errands that have been done; drawn: those that have been drawn; zeros before.
template <class T>
struct Errands {
  const T* o;
  const float* lse;
  int *prepared, *drawn;
  int ahead, of_head, count;

  static Errands of(const Shape& shape, const Tensors<T>& t, int* prepared, int* drawn, int ahead) {
    const int of_head = shape.group() * padded_rows(shape) / (kErrandElements / shape.d);
    const int heads = static_cast<int>(shape.all_kv_heads()) - ahead;
    return {t.o, t.lse, prepared, drawn, ahead, of_head, heads * of_head};
  }

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  // By the thread that feeds: until all of a K/V head's are done, for TMA to read what they wrote.
  __device__ __forceinline__ void wait(int kv_head) const {
    if (kv_head < ahead) return;
    DqSemaphore{prepared + kv_head, of_head}.wait();
    ptx::fence_proxy_async_global();
  }
#endif
};

// Behind dQ two counters for each K/V head, one of tiles, and one of errands.
inline std::int64_t errands_scratch(const Shape& shape) {
  return row_stats_and_dq_scratch(shape) + 2 * shape.all_kv_heads() + 2;
}

// region ahead
// How many K/V heads are prepared before the launch: those of the first wave of tiles, and as many
// more as are begun together. If a query sees fewer than 128 keys on average, all: errands take
// time for each row, products for each pair, and errands would not be done in time.
inline int heads_ahead(const Shape& shape, int tiles, int begun_together) {
  const auto kv_heads = static_cast<int>(shape.all_kv_heads());
  if (pairs(shape) < 128.0 * static_cast<double>(shape.rows())) return kv_heads;
  return std::min(kv_heads, kit::divide_up(kit::multiprocessor_count(), tiles) + begun_together);
}
// endregion

// A warp's place in shared memory.
struct ErrandPlace {
  alignas(128) unsigned char d_o[2 * kErrandElements], o[2 * kErrandElements];
  alignas(128) float zeros[kErrandZeros];
  std::uint64_t full;

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  // By one thread.
  __device__ __forceinline__ void init() { ptx::mbarrier_init(&full, 1); }
#endif
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// sum + the products of two neighbouring elements of a with those of b.
template <class T>
__device__ __forceinline__ float add_two_products(float sum, std::uint32_t a, std::uint32_t b) {
  float2 x, y;
  if constexpr (std::is_same_v<T, __half>) {
    x = __half22float2(reinterpret_cast<const __half2&>(a));
    y = __half22float2(reinterpret_cast<const __half2&>(b));
  } else {
    x = __bfloat1622float2(reinterpret_cast<const __nv_bfloat162&>(a));
    y = __bfloat1622float2(reinterpret_cast<const __nv_bfloat162&>(b));
  }
  return fmaf(x.y, y.y, fmaf(x.x, y.x, sum));
}

// D of an errand's rows, of which the first `valid` are rows of the head; zeros behind them.
template <class T, int kD>
__device__ __forceinline__ void sum_rows(const ErrandPlace& place, float* delta, int valid) {
  const int lane = threadIdx.x % 32, member = lane % kRowTeam;
#pragma unroll 2
  for (int row = lane / kRowTeam; row < kErrandElements / kD; row += 32 / kRowTeam) {
    float sum = 0;
#pragma unroll
    for (int byte = 16 * member; row < valid && byte < 2 * kD; byte += 16 * kRowTeam) {
      const auto x = *reinterpret_cast<const uint4*>(place.d_o + row * kD * 2 + byte);
      const auto y = *reinterpret_cast<const uint4*>(place.o + row * kD * 2 + byte);
      sum = add_two_products<T>(sum, x.x, y.x);
      sum = add_two_products<T>(sum, x.y, y.y);
      sum = add_two_products<T>(sum, x.z, y.z);
      sum = add_two_products<T>(sum, x.w, y.w);
    }
#pragma unroll
    for (int step = kRowTeam / 2; step > 0; step /= 2) {
      sum += __shfl_xor_sync(0xffffffff, sum, step);
    }
    if (member == 0) delta[row] = sum;
  }
}

// region errands
// By a warp: all errands that it draws. Those who wait for an errand may rely on it from the moment
// when lane 0 counts it, under the loads of the next one: only then are its zeros in memory.
template <int kD, class T>
__device__ __forceinline__ void run_errands(ErrandPlace& place, const Arguments<T>& args,
                                            const Errands<T>& errands) {
  constexpr int kRows = kErrandElements / kD;
  const int lane = threadIdx.x % 32;
  for (int i = lane; i < kErrandZeros; i += 32) place.zeros[i] = 0;
  ptx::fence_proxy_async();
  __syncwarp();
  int next = 0, head_before = -1;  // lane 0's
  if (lane == 0) next = atomicAdd(errands.drawn, 1);
#pragma unroll 1
  for (std::uint32_t phase = 0;; phase ^= 1) {
    const int number = __shfl_sync(0xffffffff, next, 0);
    if (number >= errands.count) break;
    // An errand's first row in the padded heads, in that head, and in O.
    const int at = (errands.ahead * errands.of_head + number) * kRows;
    const int head = at / args.rows.pitch, row = at % args.rows.pitch;
    const int valid = max(0, min(kRows, args.shape.n_q - row));
    const std::int64_t from = std::int64_t{head} * args.shape.n_q + row;
    // All that takes long is asked for: rows, zeros, the number of the next errand.
    if (lane == 0) {
      ptx::mbarrier_arrive_expect_tx(&place.full, 2 * valid * kD * 2);
      if (valid > 0) {
        ptx::cp_async_bulk(place.d_o, args.d_o + from * kD, valid * kD * 2, &place.full);
        ptx::cp_async_bulk(place.o, errands.o + from * kD, valid * kD * 2, &place.full);
      }
      float* const dq = args.rows.dq_accum + std::int64_t{at} * kD;
#pragma unroll
      for (int i = 0; i < kErrandElements; i += kErrandZeros) {
        ptx::cp_async_bulk_store(dq + i, place.zeros, sizeof(place.zeros));
      }
      ptx::bulk_commit_group();
      next = atomicAdd(errands.drawn, 1);
      if (head_before >= 0) {  // the zeros of the errand before are written
        ptx::bulk_wait_group<1>();
        DqSemaphore{errands.prepared + head_before, 0}.pass();
      }
      head_before = errands.ahead + number / errands.of_head;
    }
    // Rows that see no key, or are none of the head: weights of 0.
#pragma unroll
    for (int i = lane; i < kRows; i += 32) {
      const float lse = i < valid ? errands.lse[from + i] : -INFINITY;
      args.rows.lse2[at + i] = lse == -INFINITY ? INFINITY : attention::kLog2E * lse;
    }
    kit::wait(&place.full, phase);
    sum_rows<T, kD>(place, args.rows.delta + at, valid);
    ptx::fence_proxy_async();  // TMA may write where these have read
    __syncwarp();
  }
  if (head_before < 0) return;
  ptx::bulk_wait_group<0>();
  DqSemaphore{errands.prepared + head_before, 0}.pass();
}
// endregion
#endif

}  // namespace backward
