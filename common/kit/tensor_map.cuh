// SPDX-License-Identifier: MIT
// How TMA learns about a tensor: a CUtensorMap, which a kernel takes as a
// `const __grid_constant__ CUtensorMap` parameter.
#pragma once

#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "common/kit/toolkit.cuh"

namespace kit {

// The elements that a tensor map may have here.
template <class T>
constexpr CUtensorMapDataType tensor_map_type() {
  if constexpr (std::is_same_v<T, float>) return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  if constexpr (std::is_same_v<T, __half>) return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
  if constexpr (std::is_same_v<T, unsigned char>) return CU_TENSOR_MAP_DATA_TYPE_UINT8;
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, __half> ||
                std::is_same_v<T, __nv_bfloat16> || std::is_same_v<T, unsigned char>);
  return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
}

// A tensor on the device, of elements of T: float, __nv_bfloat16, __half
// or unsigned char. sizes: elements in each
// dimension, the contiguous one first; pitches: bytes from one index to the next in each dimension
// but the first; base and pitches are multiples of 16 bytes, or the driver refuses: an exception.
// box: the elements of one copy, in each dimension at most 256. promotion: how many bytes the L2
// cache fetches at a time. swizzle: by default a row of the box has at most 128 bytes, and its
// 16-byte chunk c, in row r of the box, lies at chunk c ^ (r % 8).
template <class T>
CUtensorMap tensor_map(const T* base, std::initializer_list<std::uint64_t> sizes,
                       std::initializer_list<std::uint64_t> pitches,
                       std::initializer_list<std::uint32_t> box,
                       CUtensorMapL2promotion promotion = CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                       CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_128B) {
  static const auto kEncode = reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(
      driver_function("cuTensorMapEncodeTiled", 12000));
  const cuuint32_t every_element[5] = {1, 1, 1, 1, 1};
  CUtensorMap map;
  const CUresult status =
      kEncode(&map, tensor_map_type<T>(), static_cast<cuuint32_t>(sizes.size()),
              const_cast<T*>(base), sizes.begin(), pitches.begin(), box.begin(), every_element,
              CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, promotion, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (status != CUDA_SUCCESS) {
    throw std::runtime_error("cuTensorMapEncodeTiled: error " + std::to_string(status));
  }
  return map;
}

}  // namespace kit
