// The shape of both kernels, and their launch until a single map is left.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "05_reduction/affine/kit/affine_map.cuh"
#include "common/kit/check.cuh"

namespace affine {

constexpr int kAffineBlock = 256;
constexpr int kAffineRun = 16;  // maps of a thread
constexpr int kAffineTile = kAffineBlock * kAffineRun;

using AffinePass = void (*)(const AffineMap* maps, AffineMap* results, std::int64_t n);

// Launches `pass`, which makes one map of each kAffineTile, until a single one is left.
// partials: room for n / kAffineTile + n / kAffineTile^2 + ... maps, rounded up each time.
inline void affine_in_passes(AffinePass pass, const AffineMap* maps, AffineMap* result,
                             std::int64_t n, AffineMap* partials, cudaStream_t stream) {
  while (true) {
    const std::int64_t blocks = std::max<std::int64_t>(1, (n + kAffineTile - 1) / kAffineTile);
    AffineMap* results = blocks == 1 ? result : partials;
    pass<<<blocks, kAffineBlock, 0, stream>>>(maps, results, n);
    CUDA_CHECK(cudaGetLastError());
    if (blocks == 1) return;
    maps = results;
    n = blocks;
    partials += blocks;
  }
}

}  // namespace affine
