// A kernel that makes one sum of each tile, launched until a single sum is left.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "05_reduction/sum/kit/grid.cuh"
#include "common/kit/check.cuh"

namespace reduction {

using SumPass = void (*)(const float* x, float* sums, std::int64_t n);

// Launches `pass`, which makes one sum of each `tile` elements, until a single one is left.
// partials: room for n / tile + n / tile^2 + ... values, rounded up each time.
inline void sum_in_passes(SumPass pass, int tile, const float* x, float* result, std::int64_t n,
                          float* partials, cudaStream_t stream) {
  while (true) {
    const std::int64_t blocks = std::max<std::int64_t>(1, (n + tile - 1) / tile);
    float* sums = blocks == 1 ? result : partials;
    pass<<<blocks, kSumBlock, 0, stream>>>(x, sums, n);
    CUDA_CHECK(cudaGetLastError());
    if (blocks == 1) return;
    x = sums;
    n = blocks;
    partials += blocks;  // the next pass reads these: it must not write there
  }
}

}  // namespace reduction
