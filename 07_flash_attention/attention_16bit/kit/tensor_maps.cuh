// How TMA sees the tensors, and where it puts what it brings.
//
// A tile of R rows and d columns of 16 bits lies as d / 64 slabs, one after the other; a slab is R
// rows of 128 bytes, swizzled as TMA and wgmma both understand it. One TMA instruction brings all
// slabs, since the tensor map shows a head as [d / 64, n, 64].
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/shape.hpp"
#include "common/kit/tensor_map.cuh"

namespace attention {

// Where the 16-byte chunk `chunk` of row `row` lies in a tile of slabs with `slab_bytes` each, as
// TMA leaves it.
__device__ __forceinline__ int slab_offset(int row, int chunk, int slab_bytes) {
  return chunk / 8 * slab_bytes + row * 128 + ((chunk % 8 ^ row % 8) * 16);
}

// The four tensors as TMA sees them: 4-D, [heads, d / 64, n, 64] with the contiguous dimension
// last. Rows past the end of a head arrive as zeros, never as rows of the next head, and are not
// stored.
struct TensorMaps {
  CUtensorMap q, k, v, o;
};

// Boxes of `rows` rows and `slabs` slabs.
template <class T>
CUtensorMap heads_map(const T* base, std::int64_t heads, std::int64_t n, int d, int rows,
                      int slabs) {
  const auto size = [](std::int64_t x) { return static_cast<std::uint64_t>(x); };
  return kit::tensor_map(
      base, {64, size(n), size(d / 64), size(heads)}, {size(d * 2), 128, size(n * d * 2)},
      {64, static_cast<std::uint32_t>(rows), static_cast<std::uint32_t>(slabs), 1});
}

template <class Tile>
TensorMaps tensor_maps(const Shape& shape, const Tensors<typename Tile::Element>& t) {
  constexpr int kD = Tile::kD;
  const std::int64_t heads = shape.all_heads();
  return {heads_map(t.q, heads, shape.n_q, kD, Tile::kTileM, kD / 64),
          heads_map(t.k, heads, shape.n_k, kD, Tile::kTileN, kD / 64),
          heads_map(t.v, heads, shape.n_k, kD, Tile::kTileN, kD / 64),
          heads_map(t.o, heads, shape.n_q, kD, 64, 1)};
}

}  // namespace attention
