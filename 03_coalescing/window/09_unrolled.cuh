// unrolled: the radius is a template argument.
//
// The compiler now knows how many taps there are: no loop, no test for the last group. On sm_90 the
// weights come from the constant cache two at a time into uniform registers, of which a warp has
// one set for all its lanes; a multiply-add takes them from there. The tile is loaded as float4,
// too: it begins up to three floats before the first window, and how many is a constant.
// One kernel per radius is compiled, for the radii people use.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "03_coalescing/window/kit/weights.cuh"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"

namespace window {

// x[i .. i + 3], i a multiple of 4; 0 where x has no such element.
__device__ inline float4 window_load_four(const float* x, std::int64_t n, std::int64_t i) {
  if (i >= 0 && i + 4 <= n) return *reinterpret_cast<const float4*>(x + i);
  float v[4];
  for (int o = 0; o < 4; ++o) v[o] = i + o >= 0 && i + o < n ? x[i + o] : 0.0f;
  return make_float4(v[0], v[1], v[2], v[3]);
}

template <int kBlock, int kRadius>
__global__ void __launch_bounds__(kBlock)
    window_unrolled_kernel(const float* __restrict__ x, float* __restrict__ y, std::int64_t n) {
  constexpr int kHalo = (kRadius + 3) / 4;      // float4 on either side of the block's own
  constexpr int kShift = 4 * kHalo - kRadius;   // floats of the halo before the first window
  constexpr int kFloats = 4 * (1 + 2 * kHalo);  // hold the windows of four outputs
  __shared__ float4 tile[kBlock + 2 * kHalo];
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * 4 * kBlock;
  for (int j = threadIdx.x; j < kBlock + 2 * kHalo; j += kBlock) {
    tile[j] = window_load_four(x, n, first + 4 * (j - kHalo));
  }
  __syncthreads();

  // region taps
  // All inputs of the four windows, in registers: every index below is a constant.
  float in[kFloats];
#pragma unroll
  for (int j = 0; j < kFloats / 4; ++j) {
    const float4 four = tile[threadIdx.x + j];
    in[4 * j] = four.x, in[4 * j + 1] = four.y, in[4 * j + 2] = four.z, in[4 * j + 3] = four.w;
  }
  float sum[4] = {0, 0, 0, 0};
#pragma unroll
  for (int k = 0; k <= 2 * kRadius; ++k) {
#pragma unroll
    for (int o = 0; o < 4; ++o) sum[o] = fmaf(window_weights[k], in[kShift + k + o], sum[o]);
  }
  // endregion

  // One store for four outputs; only the end of y takes them one by one.
  const std::int64_t i = first + 4 * threadIdx.x;
  if (i + 4 <= n) {
    *reinterpret_cast<float4*>(y + i) = make_float4(sum[0], sum[1], sum[2], sum[3]);
  } else {
    for (int o = 0; o < 4; ++o) {
      if (i + o < n) y[i + o] = sum[o];
    }
  }
}

using UnrolledKernel = void (*)(const float*, float*, std::int64_t);
constexpr int kUnrolledBlock = 256;

// The kernel for this radius, or null if there is none.
inline UnrolledKernel unrolled_kernel(int radius) {
  switch (radius) {
    case 1: return window_unrolled_kernel<kUnrolledBlock, 1>;
    case 2: return window_unrolled_kernel<kUnrolledBlock, 2>;
    case 4: return window_unrolled_kernel<kUnrolledBlock, 4>;
    case 8: return window_unrolled_kernel<kUnrolledBlock, 8>;
    case 16: return window_unrolled_kernel<kUnrolledBlock, 16>;
  }
  return nullptr;
}

// As window_constant(), for the radii 1, 2, 4, 8 and 16 and pointers aligned to 16 bytes.
inline void window_unrolled(const float* x, float* y, std::int64_t n, int radius,
                            cudaStream_t stream) {
  const UnrolledKernel kernel = unrolled_kernel(radius);
  if (kernel == nullptr) throw kit::Skip("compiled for the radii 1, 2, 4, 8 and 16");
  kit::require_aligned_to_16(x, y);
  constexpr int kTile = 4 * kUnrolledBlock;
  const std::int64_t grid = std::max<std::int64_t>(1, (n + kTile - 1) / kTile);
  kernel<<<grid, kUnrolledBlock, 0, stream>>>(x, y, n);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace window
