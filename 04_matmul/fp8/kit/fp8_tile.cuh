// A block's tile of a product in fp8 on Hopper: how TMA brings it, how a warpgroup multiplies it,
// and how C leaves. Byte for byte it is a tile of bf16 (kit/gemm_tile.cuh): rows of 128 bytes,
// swizzled; but these are 128 values of k.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "04_matmul/kit/gemm_tile.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/ptx/wgmma.cuh"
#include "common/kit/tensor_map.cuh"

namespace matmul::fp8 {

constexpr int kTileK = 128;  // values of k in a tile

// A matrix of bytes, rows x k, in boxes of box_rows rows and 128 values of k.
template <class Element>
CUtensorMap map_of_bytes(const Element* x, int rows, int k, int box_rows) {
  static_assert(sizeof(Element) == 1);
  const auto width = static_cast<std::uint64_t>(k), height = static_cast<std::uint64_t>(rows);
  return kit::tensor_map(reinterpret_cast<const unsigned char*>(x), {width, height}, {width},
                         {kTileK, static_cast<std::uint32_t>(box_rows)},
                         CU_TENSOR_MAP_L2_PROMOTION_L2_128B);
}

// C as a kernel stores it: by TMA where its rows begin at multiples of 16 bytes, else by threads.
struct Result {
  CUtensorMap map;
  LooseC loose;
  bool is_loose;
};
inline Result result(__nv_bfloat16* c, int m, int n) {
  Result result = {{}, {{c, n}, m, n}, !kit::has_vector_rows(c, n)};
  if (!result.is_loose) result.map = map_of_rows(c, m, n, 64);
  return result;
}

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// Issues the products of one k tile, four wgmma of 32 values of k each: as issue_k_tile, for
// elements of ElementA and ElementB. `first`: they set the accumulators. Does not wait.
template <class ElementA, class ElementB = __nv_fp8_e4m3, int kCount>
__device__ inline void issue_k_tile(float (&acc)[kCount], const unsigned char* a,
                                    const unsigned char* b, bool first) {
  constexpr int kEightRows = 8 * kRowBytes;
  const std::uint64_t from_a = ptx::descriptor_128B(a, 0, kEightRows);
  const std::uint64_t from_b = ptx::descriptor_128B(b, 0, kEightRows);
#pragma unroll
  for (int q = 0; q < kTileK / 32; ++q) {
    const std::uint64_t a_tile = ptx::advance(from_a, 32 * q),
                        b_tile = ptx::advance(from_b, 32 * q);
    if constexpr (std::is_same_v<ElementA, __nv_fp8_e5m2>) {
      ptx::wgmma_e5m2(acc, a_tile, b_tile, !first || q > 0);
    } else if constexpr (std::is_same_v<ElementB, __nv_fp8_e5m2>) {
      ptx::wgmma_e4m3_e5m2(acc, a_tile, b_tile, !first || q > 0);
    } else {
      ptx::wgmma_e4m3(acc, a_tile, b_tile, !first || q > 0);
    }
  }
}

// Stores a slab of 64 columns, swizzled and complete, at (row, col) of C.
__device__ inline void store_slab(const Result* c, const unsigned char* slab, int rows, int row,
                                  int col) {
  if (c->is_loose) {
    matmul::store_slab(&c->loose, slab, rows, row, col);
  } else {
    matmul::store_slab(&c->map, slab, rows, row, col);
  }
}
#endif

}  // namespace matmul::fp8
