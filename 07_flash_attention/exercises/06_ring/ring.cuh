// Exercise 07/ring: one warp has TMA fill a ring of tiles, another one empties it.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/kit/ptx/tma.cuh"

constexpr int kTile = 64;  // floats
constexpr int kStages = 3;

// Where somebody is in the ring. Producer and consumer each keep their own.
struct RingState {
  int stage = 0;
  std::uint32_t phase = 0;  // the parity of the trip around the ring: 0, 1, 0, ...

  __device__ void next() {
    //@ task 1: to the next stage; behind the last one the next trip begins
    //@ hint: stages are 0, 1, 2, 0, 1, 2, ...
    //@ hint: the phase changes once per trip, not once per stage
    //@ hint: when stage comes to kStages: stage = 0 and phase ^= 1
    //@ begin
    if (++stage == kStages) {
      stage = 0;
      phase ^= 1;
    }
    //@ end
  }
};

// sums[t] = the sum of tile t of x. x has `tiles` tiles of 64 floats, aligned to 16 bytes.
__global__ void ring_kernel(const float* x, float* sums, int tiles) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  __shared__ alignas(16) float data[kStages][kTile];
  __shared__ std::uint64_t full[kStages], empty[kStages];
  // Until the phase of the barrier with this parity has completed. On a new barrier a wait for
  // parity 1 passes at once.
  const auto wait = [](std::uint64_t* barrier, std::uint32_t parity) {
    while (!ptx::mbarrier_try_wait_parity(barrier, parity)) {
    }
  };
  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) {
      ptx::mbarrier_init(&full[s], 1);   // one arrival: that of the producer, which promises bytes
      ptx::mbarrier_init(&empty[s], 1);  // one arrival: that of the consumer, which is done
    }
    ptx::fence_mbarrier_init();
  }
  __syncthreads();

  RingState at;
  const int lane = threadIdx.x % 32;
  if (threadIdx.x / 32 == 0) {  // the producer, one thread of it
    for (int t = 0; lane == 0 && t < tiles; ++t) {
      //@ task 2: the stage must have been emptied since the trip before
      //@ hint: empty[stage] completes a phase each time the consumer has released the stage
      //@ hint: on trip 0 nobody has released anything, and the wait must pass at once
      //@ hint: so the producer waits for the other parity: wait(&empty[at.stage], at.phase ^ 1)
      //@ begin
      wait(&empty[at.stage], at.phase ^ 1);
      //@ end
      ptx::mbarrier_arrive_expect_tx(&full[at.stage], sizeof(data[0]));
      ptx::cp_async_bulk(data[at.stage], x + t * kTile, sizeof(data[0]), &full[at.stage]);
      at.next();
    }
  } else {  // the consumer
    for (int t = 0; t < tiles; ++t) {
      //@ task 3: the stage must have been filled on this trip
      //@ hint: full[stage] completes a phase when all promised bytes are there
      //@ hint: the first time it is the phase with parity 0, on the next trip that with parity 1
      //@ hint: wait(&full[at.stage], at.phase)
      //@ begin
      wait(&full[at.stage], at.phase);
      //@ end
      float sum = data[at.stage][lane] + data[at.stage][lane + 32];
      ptx::fence_proxy_async();  // TMA, another proxy than these reads, writes to the stage next
      for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffffu, sum, s);
      //@ task 4: the producer may fill the stage again
      //@ hint: all lanes have read: the shuffles, in which they met, lie behind their loads
      //@ hint: empty[stage] expects one arrival, so one lane speaks for all
      //@ hint: if (lane == 0) ptx::mbarrier_arrive(&empty[at.stage])
      //@ begin
      if (lane == 0) ptx::mbarrier_arrive(&empty[at.stage]);
      //@ end
      if (lane == 0) sums[t] = sum;
      at.next();
    }
  }
#endif
}

inline void ring(const float* x, float* sums, int tiles) { ring_kernel<<<1, 64>>>(x, sums, tiles); }
