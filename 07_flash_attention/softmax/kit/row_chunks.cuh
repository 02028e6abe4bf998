// What the softmax kernels share: how a block goes through a row, and how its threads agree on the
// row's largest element and its sum. All rungs go through rows in the same way, so that their times
// differ by the number of passes and by nothing else.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"

namespace softmax {

constexpr int kRowThreads = 512;  // a block, which takes one row

// kWide neighbouring floats: one load or store of 4 or 16 bytes.
template <int kWide>
struct alignas(kWide * sizeof(float)) Chunk {
  float x[kWide];
};

// Calls visit(chunk, index) for this thread's chunks of a row. Four loads are in flight at a time.
template <int kWide, class Visit>
__device__ void each_chunk(const float* row, int columns, Visit visit) {
  constexpr int kAhead = 4;
  const auto* chunks = reinterpret_cast<const Chunk<kWide>*>(row);
  const int count = columns / kWide;
  int i = threadIdx.x;
  for (; i + (kAhead - 1) * kRowThreads < count; i += kAhead * kRowThreads) {
    Chunk<kWide> ahead[kAhead];
#pragma unroll
    for (int a = 0; a < kAhead; ++a) ahead[a] = chunks[i + a * kRowThreads];
#pragma unroll
    for (int a = 0; a < kAhead; ++a) visit(ahead[a], i + a * kRowThreads);
  }
  for (; i < count; i += kRowThreads) {
    const Chunk<kWide> chunk = chunks[i];
    visit(chunk, i);
  }
}

// combine() over the values of all threads of the block, in any order; all of them get it.
template <class T, class Combine>
__device__ T over_block(T value, Combine combine) {
  constexpr int kWarps = kRowThreads / 32;
  __shared__ T of_warp[kWarps];
  for (int step = 16; step > 0; step /= 2) value = combine(value, value.from_lane(step));
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
  __syncthreads();
  value = of_warp[threadIdx.x % kWarps];
  for (int step = kWarps / 2; step > 0; step /= 2) value = combine(value, value.from_lane(step));
  __syncthreads();  // of_warp may be written again
  return value;
}

struct Number {
  float value;
  __device__ Number from_lane(int step) const { return {__shfl_xor_sync(0xffffffff, value, step)}; }
};

__device__ inline float max_over_block(float value) {
  return over_block(Number{value},
                    [](Number a, Number b) { return Number{fmaxf(a.value, b.value)}; })
      .value;
}
__device__ inline float sum_over_block(float value) {
  return over_block(Number{value}, [](Number a, Number b) { return Number{a.value + b.value}; })
      .value;
}

// Whether chunks of four floats fit: all rows begin at multiples of 16 bytes.
inline bool rows_are_aligned(const float* x, const float* y, std::int64_t columns) {
  return kit::has_vector_rows(x, columns) && kit::has_vector_rows(y, columns);
}

// Launches kernel4 or kernel1, of chunks of 4 floats or of 1, with one block for each row.
template <class Kernel>
void launch_on_rows(Kernel kernel4, Kernel kernel1, const float* x, float* y, std::int64_t rows,
                    std::int64_t columns, cudaStream_t stream) {
  const Kernel kernel = rows_are_aligned(x, y, columns) ? kernel4 : kernel1;
  kernel<<<static_cast<unsigned>(rows), kRowThreads, 0, stream>>>(x, y, static_cast<int>(columns));
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace softmax
