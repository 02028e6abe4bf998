// Which tile of keys a block takes.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/backward/shape.hpp"

namespace backward {

struct KeyTile {
  std::int64_t kv_head;
  int index;
};

// Heads that are begun together are a band: the first blocks take their first tiles of keys, the
// next ones their second tiles, and so on. Of 16 heads, 132 multiprocessors have some eight tiles
// each at a time, which share the head's queries in L2. Blocks count from 0; key_tiles: of a head.
constexpr int kBand = 16;
__device__ __forceinline__ KeyTile key_tile_in_band(int block, int key_tiles, const Shape& shape) {
  const int first_head = block / (kBand * key_tiles) * kBand;
  const auto heads = static_cast<int>(min(std::int64_t{kBand}, shape.all_kv_heads() - first_head));
  const int at = block - first_head * key_tiles;
  return {first_head + at % heads, at / heads};
}

}  // namespace backward
