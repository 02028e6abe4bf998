// vectorized: 16 bytes per lane. Then d / 8 lanes have a whole key, and a warp has several.
//
// A team of d / 8 lanes shares a key; with d = 128 a warp has two teams, which take keys in turn,
// each with a softmax of its own. A quarter of the loads, a shuffle less for twice the keys, and
// the sums are only rescaled when a larger score turns up. At the end the teams' sums are merged.
// What is still wrong: the query heads of a group read the same keys, each for itself.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/decode/kit/team.cuh"
#include "07_flash_attention/decode/shape.hpp"
#include "07_flash_attention/shape.hpp"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"

namespace decode {

constexpr int kWideWarps = 4;  // of a block

template <class T, int kD>
__global__ void __launch_bounds__(kWideWarps * 32) vectorized_kernel(Tensors<T> t, Shape shape) {
  using Row = Team<T, kD, 1>;
  const std::int64_t row = std::int64_t{blockIdx.x} * kWideWarps + threadIdx.x / 32;
  if (row >= shape.rows()) return;
  const int team = threadIdx.x % 32 / Row::kLanes, member = threadIdx.x % Row::kLanes;
  const std::int64_t first = row / shape.group() * shape.n * Row::kLanes + member;
  const uint4* k = reinterpret_cast<const uint4*>(t.k) + first;
  const uint4* v = reinterpret_cast<const uint4*>(t.v) + first;

  // The teams take keys in turn; the last keys may not be enough for all of them.
  Row state;
  state.start(t.q + row * kD, 1, shape.scale());
  for (int j = team; j - team < shape.n; j += Row::kTeams) {
    const bool seen = j < shape.n;
    state.add(seen ? k[j * Row::kLanes] : uint4{}, seen ? v[j * Row::kLanes] : uint4{}, seen);
  }
  state.merge_teams();

  if (team > 0) return;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    t.o[row * kD + 8 * member + i] = T(state.o[0][i] * state.factor(0));
  }
  if (member == 0) t.lse[row] = attention::kLn2 * state.lse2(0);
}

// Device pointers, aligned to 16 bytes.
template <class T>
void vectorized(const Shape& shape, const Tensors<T>& t, cudaStream_t stream) {
  attention::with_head_dim(shape.d, [&](auto head_dim) {
    const int blocks = kit::divide_up(shape.rows(), kWideWarps);
    vectorized_kernel<T, head_dim><<<blocks, kWideWarps * 32, 0, stream>>>(t, shape);
    CUDA_CHECK(cudaGetLastError());
  });
}

}  // namespace decode
