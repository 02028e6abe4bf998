// packed: both words in one of 64 bits, and no lock.
//
// The value goes into the upper half, turned into an unsigned integer that sorts like the float;
// the index goes below, inverted, so that of equal values the smallest index is the largest number.
// Then one atomicMax on 64 bits does all of it, and nobody ever waits for an owner. A record that
// fits into 64 bits (on sm_90 128, through atomicCAS) needs no lock. What is left to do: wider
// loads.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "06_atomics_streams/kit/warp_sum.cuh"
#include "06_atomics_streams/lock/kit/record.cuh"
#include "common/kit/check.cuh"

namespace lock {

// Unsigned integers in the order of the floats: positive ones move above the negative ones, whose
// own order is turned round. No NaN; -0.0 becomes 0.0, which it equals.
__device__ inline unsigned sortable(float value) {
  const unsigned bits = __float_as_uint(value + 0.0f);
  return bits >> 31 ? ~bits : bits | 0x80000000u;
}

__device__ inline float from_sortable(unsigned key) {
  return __uint_as_float(key >> 31 ? key & 0x7fffffffu : ~key);
}

__device__ inline unsigned long long pack(float value, unsigned index) {
  return static_cast<unsigned long long>(sortable(value)) << 32 | (0xffffffffu - index);
}

__global__ void lock_packed_kernel(const float* x, std::int64_t n, unsigned long long* packed) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  unsigned long long best = i < n ? pack(x[i], static_cast<unsigned>(i)) : 0;
  for (int step = 16; step > 0; step /= 2) {
    best = max(best, __shfl_down_sync(atomics_streams::kAllLanes, best, step));
  }
  if (threadIdx.x % 32 == 0) atomicMax(packed, best);
}

__global__ void lock_unpack_kernel(unsigned long long* packed) {
  const unsigned long long best = *packed;
  *reinterpret_cast<Record*>(packed) = {from_sortable(static_cast<unsigned>(best >> 32)),
                                        0xffffffffu - static_cast<unsigned>(best)};
}

// *record = the largest of x[0 .. n) and its first place. Device pointers, record aligned to 8
// bytes; 0 < n < 2^32 - 1.
inline void lock_packed(const float* x, std::int64_t n, Record* record, cudaStream_t stream) {
  const int block = 256;
  auto* packed = reinterpret_cast<unsigned long long*>(record);
  CUDA_CHECK(cudaMemsetAsync(packed, 0, sizeof *packed, stream));  // below every packed value
  lock_packed_kernel<<<(n + block - 1) / block, block, 0, stream>>>(x, n, packed);
  lock_unpack_kernel<<<1, 1, 0, stream>>>(packed);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace lock
