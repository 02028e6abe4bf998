// four_outputs: each thread computes four neighbouring outputs from registers.
//
// The four windows overlap but for three inputs. A float4 from shared memory brings four inputs and
// serves four taps of four outputs: 16 products per load instead of one. The taps go in groups of
// four; `low` and `high` hold the seven inputs a group needs; `high` is the next group's `low`.
// What is left: a loop of few instructions, each round of which asks how many taps remain.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "03_coalescing/window/kit/halo_tile.cuh"
#include "03_coalescing/window/kit/weights.cuh"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"

namespace window {

template <int kBlock>
__global__ void window_four_outputs_kernel(const float* __restrict__ x, float* __restrict__ y,
                                           std::int64_t n, int radius) {
  constexpr int kTile = 4 * kBlock;
  __shared__ float4 tile[kBlock + (2 * kMaxRadius + 3) / 4 + 1];
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kTile;
  const int taps = 2 * radius + 1;
  const int groups = (taps + 3) / 4;
  window_load_tile(x, n, first - radius, kTile + 4 * groups, reinterpret_cast<float*>(tile));
  __syncthreads();

  // region taps
  // Four outputs need seven inputs for each group of four taps; `low` and `high` hold eight.
  float sum[4] = {0, 0, 0, 0};
  float4 low = tile[threadIdx.x];
  for (int g = 0; g < groups; ++g) {
    const float4 high = tile[threadIdx.x + g + 1];
    const float in[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      if (4 * g + k < taps) {  // the last group may have fewer
        const float weight = window_weights[4 * g + k];
#pragma unroll
        for (int o = 0; o < 4; ++o) sum[o] = fmaf(weight, in[k + o], sum[o]);
      }
    }
    low = high;
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

// As window_constant(); y must be aligned to 16 bytes.
inline void window_four_outputs(const float* x, float* y, std::int64_t n, int radius,
                                cudaStream_t stream) {
  kit::require_aligned_to_16(y);
  constexpr int kBlock = 256;
  constexpr int kTile = 4 * kBlock;
  const std::int64_t grid = std::max<std::int64_t>(1, (n + kTile - 1) / kTile);
  window_four_outputs_kernel<kBlock><<<grid, kBlock, 0, stream>>>(x, y, n, radius);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace window
