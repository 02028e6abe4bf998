// half_warp: 16 lanes keep 128 elements, and need neither memory nor a barrier to agree.
//
// Eight elements a lane are a load of 16 bytes and a store of 8. Four shuffles give all 16 lanes
// the maximum, so each of them has the scale in a register and rounds what it still holds: x is
// read once, in one launch. A half-warp takes the same 128 columns of four neighbouring rows: four
// loads are in flight at a time, and the four scales, neighbours in memory as cuBLASLt wants them,
// leave in one store of 16 bytes. What is still wrong: nothing that the memory would notice.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/kit/scaling.cuh"
#include "04_matmul/quantize/kit/eight.cuh"
#include "04_matmul/quantize/kit/operand.hpp"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"

namespace matmul::quantize {

constexpr int kHalfWarp = kScaleBlock / kEight;  // lanes
constexpr int kHalfWarpRows = 4;
constexpr int kHalfWarpThreads = 256;
static_assert(kHalfWarp == 16, "half of a warp has a block's 128 elements, eight a lane");

// pitch: of the scales, a multiple of 4.
static __global__ void __launch_bounds__(kHalfWarpThreads)
    quantize_half_warp_kernel(Operand o, std::int64_t pitch) {
  const std::int64_t thread = std::int64_t{blockIdx.x} * kHalfWarpThreads + threadIdx.x;
  const auto unit = static_cast<unsigned>(thread / kHalfWarp);  // so many fit into 32 bits
  const auto pieces = static_cast<unsigned>(o.pieces());
  const int lane = threadIdx.x % kHalfWarp;
  const std::int64_t row = std::int64_t{unit / pieces} * kHalfWarpRows;
  const std::int64_t piece = unit % pieces, first = piece * kScaleBlock + lane * kEight;
  const std::int64_t at = row * o.k + first;
  const std::int64_t rows = first < o.k ? o.m - row : 0;  // that this lane may touch

  // region half_warp
  // The only read.
  uint4 bits[kHalfWarpRows];
#pragma unroll
  for (int r = 0; r < kHalfWarpRows; ++r) {
    bits[r] = r < rows ? *reinterpret_cast<const uint4*>(o.x + at + r * o.k) : uint4{0, 0, 0, 0};
  }

  float scale[kHalfWarpRows];
#pragma unroll
  for (int r = 0; r < kHalfWarpRows; ++r) {
    scale[r] = scale_for(largest_of_lanes(largest_of(bits[r]), kHalfWarp));
  }
  if (lane == 0 && rows > 0) {
    *reinterpret_cast<float4*>(o.scales + piece * pitch + row) = {scale[0], scale[1], scale[2],
                                                                  scale[3]};
  }

#pragma unroll
  for (int r = 0; r < kHalfWarpRows; ++r) {
    if (r < rows) {
      *reinterpret_cast<uint2*>(o.q + at + r * o.k) = rounded(bits[r], 1 / scale[r]);
    }
  }
  // endregion
}

// o.q and a scale for each 1 x 128 of o.x. Device pointers, aligned to 16 bytes.
inline void quantize_half_warp(const Operand& o, cudaStream_t stream) {
  const ScaleLayout layout = {Scaling::blocks, o.m, 0, o.k};
  const std::int64_t units = (o.m + kHalfWarpRows - 1) / kHalfWarpRows * o.pieces();
  const int grid = kit::divide_up(units * kHalfWarp, kHalfWarpThreads);
  quantize_half_warp_kernel<<<grid, kHalfWarpThreads, 0, stream>>>(o, layout.pitch_a());
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace matmul::quantize
