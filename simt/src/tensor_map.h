// What cuTensorMapEncodeTiled puts into a CUtensorMap. NVIDIA's own layout is not documented;
// programs hand the 128 bytes on as they are.
#pragma once

#include <cstdint>

#include "simt/ptx_matrix.h"

namespace simt {

struct TensorMap {
  static constexpr uint32_t kMagic = 0x73696d74;

  uint32_t magic;
  uint8_t rank;
  uint8_t element_bytes;
  ptx::Element element;
  uint8_t swizzle_bytes;  // 0, 32, 64 or 128
  char* base;
  uint64_t pitch[4];  // bytes from one index to the next in dimensions 1, 2, ...
  uint64_t size[5];
  uint16_t box[5];
  uint8_t step[5];  // every step-th element is copied
  bool nan_outside;
};
static_assert(sizeof(TensorMap) <= 128, "a tensor map has 128 bytes");

}  // namespace simt
