// How TMA sees a window of rows of every head.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "common/kit/tensor_map.cuh"

namespace ring_attention {

// A window of `rows` rows of every head, of which there are `head_rows`.
template <class Tile, class T>
CUtensorMap window_map(const T* base, int heads, int head_rows, int rows, int box_rows) {
  const auto size = [](std::int64_t x) { return static_cast<std::uint64_t>(x); };
  constexpr int kD = Tile::kD;
  return kit::tensor_map(
      base, {64, size(std::max(rows, 1)), size(kD / 64), size(heads)},
      {size(kD * 2), 128, size(std::int64_t{head_rows} * kD * 2)},
      {64, static_cast<std::uint32_t>(box_rows), static_cast<std::uint32_t>(kD / 64), 1});
}

}  // namespace ring_attention
