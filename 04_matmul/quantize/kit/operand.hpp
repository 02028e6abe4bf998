// What every rung is given, and the scale that belongs to a largest element.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/kit/scaling.cuh"

namespace matmul::quantize {

// x, m x k and row-major, is to become q times its scales. k is a multiple of 16, so every row of x
// and of q begins on 16 bytes. The scales lie as those of A in a product (ScaleLayout); what
// pads the scales of blocks may become anything. All on the host or all on the device.
struct Operand {
  const __nv_bfloat16* x;
  __nv_fp8_e4m3* q;
  float* scales;
  std::int64_t m, k;

  // A row's pieces of 128: elements of one have one scale, however x is scaled.
  __host__ __device__ std::int64_t pieces() const { return (k + kScaleBlock - 1) / kScaleBlock; }
};

constexpr float kLargest = 448;          // of E4M3
constexpr float kLeastScale = 0x1p-126;  // the least normal float: 1 / scale is no infinity

// Of elements whose largest size is this: it becomes 448. Zeros, and what is almost 0, have the
// least scale.
__host__ __device__ inline float scale_for(float largest) {
  return fmaxf(largest / kLargest, kLeastScale);
}

}  // namespace matmul::quantize
