// Exercise 04/repair_ring: a ring of tiles from TMA, and five mistakes.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/kit/ptx/tma.cuh"
#include "common/kit/tensor_map.cuh"

constexpr int kStages = 2;
constexpr int kRows = 8, kCols = 32;  // of a tile
constexpr int kWarps = 2;             // that consume; one more produces

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
// Until the barrier's phase with this parity has completed.
__device__ inline void wait(std::uint64_t* barrier, std::uint32_t parity) {
  while (!ptx::mbarrier_try_wait_parity(barrier, parity)) {
  }
}
#endif

// sums[c] = x[0][c] + x[1][c] + ... for the 32 columns of a block. x is rows x cols, and `map`
// describes it: tile after tile of 8 rows comes, and each warp adds up half of the rows of each.
__global__ void column_sums_kernel(const __grid_constant__ CUtensorMap map, float* sums, int rows,
                                   int cols) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  __shared__ alignas(128) float ring[kStages][kRows][kCols];
  __shared__ std::uint64_t full[kStages], empty[kStages];
  __shared__ float halves[kWarps][kCols];
  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) {
      ptx::mbarrier_init(&full[s], 1);
      //@ task 1: something is wrong with a number of arrivals
      //@ hint: when may a stage be filled again?
      //@ hint: when both warps have released it: kWarps arrivals
      //@ instead: ptx::mbarrier_init(&empty[s], 1);
      //@ begin
      ptx::mbarrier_init(&empty[s], kWarps);
      //@ end
    }
    ptx::fence_mbarrier_init();
  }
  __syncthreads();

  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, col = blockIdx.x * kCols;
  int stage = 0;
  std::uint32_t phase = 0;  // parity of the trip around the ring
  const auto next = [&] {
    //@ task 2: something is wrong with the parity
    //@ hint: on which trips does a stage complete a phase of which parity?
    //@ hint: the parity changes with each trip around the ring, not with each stage
    //@ instead: stage = (stage + 1) % kStages;
    //@ instead: phase ^= 1;
    //@ begin
    if (++stage == kStages) {
      stage = 0;
      phase ^= 1;
    }
    //@ end
  };

  if (warp == kWarps) {  // the producer
    for (int row = 0; row < rows && lane == 0; row += kRows, next()) {
      wait(&empty[stage], phase ^ 1);
      //@ task 3: something is wrong with the copy
      //@ hint: what does the barrier count, and which coordinate of a box comes first?
      //@ hint: bytes, and all bytes of the box, also past the edge; the column comes first
      //@ instead: ptx::mbarrier_arrive_expect_tx(&full[stage], kRows * kCols);
      //@ instead: ptx::tensor_load(ring[stage], &map, row, col, &full[stage]);
      //@ begin
      ptx::mbarrier_arrive_expect_tx(&full[stage], sizeof ring[stage]);
      ptx::tensor_load(ring[stage], &map, col, row, &full[stage]);
      //@ end
    }
  } else {  // the consumers
    float sum = 0;
    for (int row = 0; row < rows; row += kRows, next()) {
      wait(&full[stage], phase);
      //@ task 4: something is wrong with when the stage is released
      //@ hint: who may write into the stage from the moment on at which this warp arrives?
      //@ hint: first read, then the proxy fence and __syncwarp(), then arrive
      //@ instead: if (lane == 0) ptx::mbarrier_arrive(&empty[stage]);
      //@ instead: for (int r = warp; r < kRows; r += kWarps) sum += ring[stage][r][lane];
      //@ instead: ptx::fence_proxy_async();  // TMA, another proxy, writes to the stage next
      //@ begin
      for (int r = warp; r < kRows; r += kWarps) sum += ring[stage][r][lane];
      ptx::fence_proxy_async();  // TMA, another proxy, writes to the stage next
      __syncwarp();
      if (lane == 0) ptx::mbarrier_arrive(&empty[stage]);
      //@ end
    }
    halves[warp][lane] = sum;
  }
  __syncthreads();
  if (warp == 0 && col + lane < cols) sums[col + lane] = halves[0][lane] + halves[1][lane];
#endif
}

// sums[c] = x[0][c] + ... + x[rows - 1][c] for all c < cols. x is row-major and aligned to 16
// bytes, and cols is a multiple of 4. Both point to device memory.
inline void column_sums(const float* x, float* sums, int rows, int cols) {
  const CUtensorMap map =
      kit::tensor_map(x, {static_cast<std::uint64_t>(cols), static_cast<std::uint64_t>(rows)},
                      {cols * sizeof(float)}, {kCols, kRows}, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                      CU_TENSOR_MAP_SWIZZLE_NONE);
  column_sums_kernel<<<(cols + kCols - 1) / kCols, 32 * (kWarps + 1)>>>(map, sums, rows, cols);
}
