// A yardstick's kernel: what it takes to read a matrix and do nothing with it.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"

namespace matmul {

// Reads `count` chunks of 16 bytes and keeps nothing. The comparison at the end is never true where
// numbers are finite, but the compiler cannot know that, so it must leave every load in.
constexpr int kReadThreads = 512, kReads = 8;  // loads under way, per thread
static __global__ void __launch_bounds__(kReadThreads)
    read_only_kernel(const uint4* from, std::int64_t count, __nv_bfloat16* result) {
  const std::int64_t first = std::int64_t{blockIdx.x} * kReadThreads * kReads + threadIdx.x;
  unsigned all = 0xffffffff;
#pragma unroll
  for (int i = 0; i < kReads; ++i) {
    const std::int64_t at = first + i * kReadThreads;
    if (at < count) {
      const uint4 words = __ldcs(&from[at]);
      all &= words.x & words.y & words.z & words.w;
    }
  }
  if (all == 0x7f807f80) *result = __float2bfloat16(0);  // all of them infinite, or no numbers
}

// As many whole chunks as there are in `bytes`.
inline void read_only(const void* from, std::int64_t bytes, __nv_bfloat16* result,
                      cudaStream_t stream) {
  const std::int64_t count = bytes / 16;
  const int blocks = kit::divide_up(count + 1, kReadThreads * kReads);
  read_only_kernel<<<blocks, kReadThreads, 0, stream>>>(static_cast<const uint4*>(from), count,
                                                        result);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace matmul
