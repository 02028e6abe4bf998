// Exercise 04/ring: a producer, a consumer, and the parity of their barriers.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/kit/ptx/tma.cuh"

constexpr int kStages = 3;
constexpr int kChunk = 128;  // floats of a stage
constexpr int kWarps = 2;    // that consume; one more produces

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
// Until the barrier's phase with this parity has completed.
__device__ inline void wait(std::uint64_t* barrier, std::uint32_t parity) {
  while (!ptx::mbarrier_try_wait_parity(barrier, parity)) {
  }
}
#endif

// y[i] = x[i] * x[i] for all i < n, by one block. x is aligned to 16 bytes, and n is a multiple of
// 4. x and y point to device memory.
__global__ void square_kernel(const float* x, float* y, int n) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  __shared__ alignas(128) float ring[kStages][kChunk];
  __shared__ std::uint64_t full[kStages], empty[kStages];
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < kStages; ++stage) {
      ptx::mbarrier_init(&full[stage], 1);        // the producer's arrival, and the bytes
      ptx::mbarrier_init(&empty[stage], kWarps);  // an arrival of each warp that consumes
    }
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;

  if (warp == kWarps) {  // the producer: one thread has chunk after chunk brought
    if (lane != 0) return;
    for (int i = 0; i * kChunk < n; ++i) {
      const int stage = i % kStages, trip = i / kStages;
      //@ task 1: wait until the stage is free again
      //@ hint: on trip t it must have been released on trip t - 1; trip 0 must not wait
      //@ hint: a new barrier lets a wait for parity 1 pass, as if a phase before it had ended
      //@ hint: trip 0 waits for parity 1, trip 1 for 0 (the first release), trip 2 for 1, ...
      //@ begin
      wait(&empty[stage], (trip + 1) % 2);
      //@ end
      //@ task 2: promise the bytes, and have them brought
      //@ hint: the last chunk may be shorter: min(kChunk, n - i * kChunk) floats
      //@ hint: first ptx::mbarrier_arrive_expect_tx(&full[stage], bytes): bytes, not floats
      //@ hint: then ptx::cp_async_bulk(ring[stage], x + i * kChunk, bytes, &full[stage])
      //@ begin
      const std::uint32_t bytes = min(kChunk, n - i * kChunk) * sizeof(float);
      ptx::mbarrier_arrive_expect_tx(&full[stage], bytes);
      ptx::cp_async_bulk(ring[stage], x + i * kChunk, bytes, &full[stage]);
      //@ end
    }
    return;
  }

  for (int i = 0; i * kChunk < n; ++i) {  // the consumers
    const int stage = i % kStages, trip = i / kStages;
    //@ task 3: wait until the chunk of this trip has come
    //@ hint: full[stage] completes a phase on each trip: phase 0 on trip 0, phase 1 on trip 1, ...
    //@ hint: the parity of the phase is trip % 2
    //@ begin
    wait(&full[stage], trip % 2);
    //@ end
    for (int j = threadIdx.x; j < kChunk && i * kChunk + j < n; j += 32 * kWarps) {
      const float value = ring[stage][j];
      y[i * kChunk + j] = value * value;
    }
    ptx::fence_proxy_async();  // TMA, another proxy than these reads, writes to the stage next
    //@ task 4: this warp has no more use for the stage
    //@ hint: all lanes must have read it: __syncwarp()
    //@ hint: one arrival a warp at empty[stage]: lane 0 calls ptx::mbarrier_arrive
    //@ begin
    __syncwarp();
    if (lane == 0) ptx::mbarrier_arrive(&empty[stage]);
    //@ end
  }
#endif
}

inline void square(const float* x, float* y, int n) {
  square_kernel<<<1, 32 * (kWarps + 1)>>>(x, y, n);
}
