// The sum of what all ranks have sent.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "04_matmul/sharded/kit/team.cuh"
#include "common/kit/check.cuh"
#include "common/kit/devices.cuh"
#include "common/kit/launch.cuh"

namespace matmul::sharded {

constexpr int kAddThreads = 256, kAddEach = 8;  // elements of a thread and turn, 16 bytes

// sum = the slots, added in their order. Each has `count` elements; they lie `stride` apart, a
// multiple of 8.
static __global__ void __launch_bounds__(kAddThreads)
    add_slots_kernel(const __nv_bfloat16* slots, std::int64_t stride, int ranks, __nv_bfloat16* sum,
                     std::int64_t count) {
  const std::int64_t grid = std::int64_t{gridDim.x} * kAddThreads * kAddEach;
  for (std::int64_t i = (std::int64_t{blockIdx.x} * kAddThreads + threadIdx.x) * kAddEach;
       i < count; i += grid) {
    // A slot has room for whole vectors, so what lies past the end may be read.
    float total[kAddEach] = {};
    for (int r = 0; r < ranks; ++r) {
      alignas(16) __nv_bfloat16 addend[kAddEach];
      *reinterpret_cast<uint4*>(addend) = *reinterpret_cast<const uint4*>(slots + r * stride + i);
#pragma unroll
      for (int e = 0; e < kAddEach; ++e) total[e] += __bfloat162float(addend[e]);
    }
    alignas(16) __nv_bfloat16 rounded[kAddEach];
#pragma unroll
    for (int e = 0; e < kAddEach; ++e) rounded[e] = __float2bfloat16(total[e]);
    if (i + kAddEach <= count) {
      *reinterpret_cast<uint4*>(sum + i) = *reinterpret_cast<const uint4*>(rounded);
    } else {
#pragma unroll
      for (int e = 0; e < kAddEach; ++e) {
        if (i + e < count) sum[i + e] = rounded[e];
      }
    }
  }
}

// C of every rank = the sum of its slots, in the order of the ranks. In the streams of the team.
inline void add_slots(const Team& team, const ProductScatter& p) {
  kit::for_each_rank(team.devices, [&](int rank, cudaStream_t stream) {
    const std::int64_t count = p.rows.size(rank) * p.n;
    if (count == 0) return;
    constexpr int kBlock = kAddThreads * kAddEach;
    const std::int64_t most = 8 * kit::multiprocessor_count();
    const auto blocks = static_cast<int>(std::min((count + kBlock - 1) / kBlock, most));
    add_slots_kernel<<<blocks, kAddThreads, 0, stream>>>(p.slots[rank], p.slot_elements(rank),
                                                         team.size(), p.c[rank], count);
    CUDA_CHECK(cudaGetLastError());
  });
}

}  // namespace matmul::sharded
