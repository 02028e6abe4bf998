// What a block may do before the launch ahead of its own has ended (sm_90).
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/decode/kit/key_ring.cuh"
#include "07_flash_attention/decode/shape.hpp"
#include "common/kit/ptx/grid.cuh"
#include "common/kit/ptx/prefetch.cuh"

namespace decode {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
// Has L2 fetch what fill would copy. Changes nothing, and can be done before anybody may read it.
template <int kD, class T, class RowOf>
__device__ void prefetch_stage(const Tensors<T>& t, RowOf row_of) {
  constexpr int kEach = 128 / sizeof(T), kLines = kD / kEach;  // elements of a line, lines of a row
#pragma unroll
  for (int i = 0; i < 2 * kStageKeys * kLines / 32; ++i) {
    const int at = i * 32 + threadIdx.x % 32;  // of the lines of the keys, then of the values
    const std::int64_t row = row_of(at / kLines % kStageKeys);
    const T* from = at < kStageKeys * kLines ? t.k : t.v;
    if (row >= 0) ptx::prefetch_l2(from + row * kD + at % kLines * kEach);
  }
}

// Has L2 fetch what the first stage will be filled with, no more, and waits until it may be read.
// row_of: as that of fill.
template <int kD, class T, class RowOf>
__device__ void begin_early(const Tensors<T>& t, RowOf row_of) {
  prefetch_stage<kD>(t, row_of);
  ptx::griddepcontrol_wait();
}
#endif

}  // namespace decode
