// Scales of blocks, which change along k: how TMA sees those of A, and where those of B lie.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/kit/scaling.cuh"
#include "common/kit/tensor_map.cuh"

namespace matmul::fp8 {

// A's scales of blocks, in boxes of box_rows rows of A and one block of k; not swizzled.
inline CUtensorMap map_of_scales(const float* scales, const ScaleLayout& layout, int box_rows) {
  return kit::tensor_map(scales,
                         {static_cast<std::uint64_t>(layout.m),
                          static_cast<std::uint64_t>((layout.k + kScaleBlock - 1) / kScaleBlock)},
                         {sizeof *scales * static_cast<std::uint64_t>(layout.pitch_a())},
                         {static_cast<std::uint32_t>(box_rows), 1},
                         CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_SWIZZLE_NONE);
}

// In the place of TensorScales or RowScales (epilogue.cuh): a complete sum has met its scales.
struct BlockScales {
  static constexpr Scaling kScaling = Scaling::blocks;
  const float *a, *b;
  ScaleLayout layout;

  template <int kRows, int kCols>
  struct Shared {};
  struct Mine {};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  __device__ Mine load(int /*row*/, int /*col*/) const { return {}; }

  template <int kRows, int kCols>
  __device__ static void share(Shared<kRows, kCols>& /*shared*/, Mine /*mine*/, int /*barrier*/) {}

  template <int kCount, int kRows, int kCols>
  __device__ void apply(float (&/*sums*/)[kCount], const Shared<kRows, kCols>& /*shared*/,
                        int /*first_row*/, int /*first_col*/) const {}
#endif
};

}  // namespace matmul::fp8
