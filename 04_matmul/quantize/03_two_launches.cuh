// two_launches: one kernel finds the scales, the next one rounds.
//
// A thread takes eight neighbours, 16 lanes the 128 that share a scale in all three ways to scale.
// The lanes agree on their maximum by shuffles, and one of them joins it to the scale in memory: an
// atomic on its bits, since floats from 0 up are in the order of their bits. Who rounds must know
// that every maximum is in: there the second launch begins. For the scale of a whole tensor all
// would meet at one address, so there a block of threads agrees first. What is still wrong: x comes
// from memory twice, 5 bytes for an element instead of 3.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/kit/scaling.cuh"
#include "04_matmul/quantize/kit/eight.cuh"
#include "04_matmul/quantize/kit/operand.hpp"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"

namespace matmul::quantize {

constexpr int kPieceLanes = kScaleBlock / kEight;  // 16
constexpr int kPieceThreads = 256;

// Which eight neighbours a thread takes, and whose scale they have.
struct Place {
  std::int64_t row, first;
  bool is_inside;

  __device__ explicit Place(const Operand& o) {
    const std::int64_t thread = std::int64_t{blockIdx.x} * kPieceThreads + threadIdx.x;
    const auto piece = static_cast<unsigned>(thread / kPieceLanes);  // so many fit into 32 bits
    const auto pieces = static_cast<unsigned>(o.pieces());
    row = piece / pieces;
    first = std::int64_t{piece % pieces} * kScaleBlock + thread % kPieceLanes * kEight;
    is_inside = row < o.m && first < o.k;
  }
  template <Scaling kScaling>
  __device__ std::int64_t scale(std::int64_t pitch) const {
    if constexpr (kScaling == Scaling::tensor) return 0;
    return kScaling == Scaling::rows ? row : first / kScaleBlock * pitch + row;
  }
};

// region two
// All scales are 0 before.
template <Scaling kScaling>
__global__ void __launch_bounds__(kPieceThreads)
    quantize_scales_kernel(Operand o, std::int64_t pitch) {
  const Place place(o);
  float largest = 0;
  if (place.is_inside) {
    largest = largest_of(*reinterpret_cast<const uint4*>(o.x + place.row * o.k + place.first));
  }
  if constexpr (kScaling == Scaling::tensor) {
    largest = largest_of_block(largest);
    if (threadIdx.x == 0) atomic_max(o.scales, scale_for(largest));
  } else {
    largest = largest_of_lanes(largest, kPieceLanes);
    if (place.is_inside && threadIdx.x % kPieceLanes == 0) {
      atomic_max(o.scales + place.scale<kScaling>(pitch), scale_for(largest));
    }
  }
}

template <Scaling kScaling>
__global__ void __launch_bounds__(kPieceThreads)
    quantize_round_kernel(Operand o, std::int64_t pitch) {
  const Place place(o);
  if (!place.is_inside) return;
  const std::int64_t at = place.row * o.k + place.first;
  const float inverse = 1 / o.scales[place.scale<kScaling>(pitch)];
  const uint4 bits = *reinterpret_cast<const uint4*>(o.x + at);
  *reinterpret_cast<uint2*>(o.q + at) = rounded(bits, inverse);
}
// endregion

// o.q and o.scales from o.x. Device pointers, aligned to 16 bytes.
template <Scaling kScaling>
void quantize_two_launches(const Operand& o, cudaStream_t stream) {
  const ScaleLayout layout = {kScaling, o.m, 0, o.k};
  const std::int64_t pitch = layout.pitch_a();
  CUDA_CHECK(cudaMemsetAsync(o.scales, 0, layout.count_a() * sizeof(float), stream));
  const int grid = kit::divide_up(o.m * o.pieces() * kPieceLanes, kPieceThreads);
  quantize_scales_kernel<kScaling><<<grid, kPieceThreads, 0, stream>>>(o, pitch);
  CUDA_CHECK(cudaGetLastError());
  quantize_round_kernel<kScaling><<<grid, kPieceThreads, 0, stream>>>(o, pitch);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace matmul::quantize
