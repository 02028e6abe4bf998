// coarsened: each thread has several independent loads in flight at once.
//
// Back to the floats of `grid_stride`, but without its loop: a thread takes three elements and asks
// for all of them before it adds the first. They lie a block apart, so that neighbouring threads
// still ask for neighbouring floats. Memory answers after several hundred cycles; what counts is
// how many bytes are asked for meanwhile: 24 per thread, where `grid_stride` has 8. No alignment is
// needed. Three is the best on an H200: `--sweep pieces` tries others. What is left: nothing, the
// memory is busy.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "01_vector_add/kit/add.cuh"
#include "common/kit/check.cuh"

namespace vector_add {

// T is float or float4; n counts elements of T.
template <class T, int kBlock, int kPieces>
__global__ void __launch_bounds__(kBlock)
    vector_add_coarsened_kernel(const T* x, T* y, std::int64_t n) {
  constexpr int kTile = kBlock * kPieces;
  const std::int64_t tile = static_cast<std::int64_t>(blockIdx.x) * kTile;
  const std::int64_t first = tile + threadIdx.x;

  if (tile + kTile <= n) {
    T a[kPieces], b[kPieces];  // in registers: after unrolling every index is a constant
#pragma unroll
    for (int p = 0; p < kPieces; ++p) {
      a[p] = x[first + p * kBlock];
      b[p] = y[first + p * kBlock];
    }
#pragma unroll
    for (int p = 0; p < kPieces; ++p) y[first + p * kBlock] = add(a[p], b[p]);
  } else {
    for (std::int64_t i = first; i < n; i += kBlock) y[i] = add(x[i], y[i]);
  }
}

template <class T, int kPieces>
void launch_coarsened(const T* x, T* y, std::int64_t n, cudaStream_t stream) {
  constexpr int kBlock = 256;
  constexpr int kTile = kBlock * kPieces;
  const std::int64_t grid = std::max<std::int64_t>(1, (n + kTile - 1) / kTile);
  vector_add_coarsened_kernel<T, kBlock, kPieces><<<grid, kBlock, 0, stream>>>(x, y, n);
  CUDA_CHECK(cudaGetLastError());
}

// y[i] = x[i] + y[i] for all i < n. Device pointers.
inline void vector_add_coarsened(const float* x, float* y, std::int64_t n, cudaStream_t stream) {
  launch_coarsened<float, 3>(x, y, n, stream);
}

}  // namespace vector_add
