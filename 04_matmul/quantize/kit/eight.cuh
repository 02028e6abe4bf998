// Eight neighbours at a time: 16 bytes of bf16 come, 8 bytes of E4M3 go.
#pragma once

#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/quantize/kit/operand.hpp"

namespace matmul::quantize {

constexpr int kEight = 8;

// The largest size of eight numbers. A bf16 is the upper half of a float.
__device__ inline float largest_of(uint4 bits) {
  const unsigned pairs[4] = {bits.x, bits.y, bits.z, bits.w};
  float largest = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    largest = fmaxf(largest, fabsf(__uint_as_float(pairs[i] << 16)));
    largest = fmaxf(largest, fabsf(__uint_as_float(pairs[i] & 0xffff0000u)));
  }
  return largest;
}

// Four numbers times `inverse`, rounded to nearest even; what is above 448 becomes 448.
__device__ inline unsigned rounded(unsigned low_pair, unsigned high_pair, float inverse) {
  const float4 scaled = {__uint_as_float(low_pair << 16) * inverse,
                         __uint_as_float(low_pair & 0xffff0000u) * inverse,
                         __uint_as_float(high_pair << 16) * inverse,
                         __uint_as_float(high_pair & 0xffff0000u) * inverse};
  return __nv_fp8x4_e4m3(scaled).__x;
}

// Eight of them. A division of each would be some ten instructions, a multiplication is one.
__device__ inline uint2 rounded(uint4 bits, float inverse) {
  return {rounded(bits.x, bits.y, inverse), rounded(bits.z, bits.w, inverse)};
}

// The largest value of `lanes` neighbouring lanes, a power of two, in each of them. All 32 lanes
// must call it.
__device__ inline float largest_of_lanes(float value, int lanes) {
  for (int s = lanes / 2; s > 0; s /= 2) {
    value = fmaxf(value, __shfl_xor_sync(0xffffffff, value, s));
  }
  return value;
}

// The largest value of a block of threads, whole warps, in every thread. All must call it, once.
__device__ inline float largest_of_block(float value) {
  __shared__ float of_warps[32];
  const unsigned lane = threadIdx.x % 32, warps = blockDim.x / 32;
  value = largest_of_lanes(value, 32);
  if (lane == 0) of_warps[threadIdx.x / 32] = value;
  __syncthreads();
  return largest_of_lanes(lane < warps ? of_warps[lane] : 0, 32);
}

// *scale = the larger one, as one step. Floats from 0 up are in the order of their bits.
__device__ inline void atomic_max(float* scale, float value) {
  atomicMax(reinterpret_cast<unsigned*>(scale), __float_as_uint(value));
}

}  // namespace matmul::quantize
