// Exercise 06/flag_scope: one GPU hands numbers to another one, chunk by chunk, by flags.
#pragma once

#include <cuda_runtime.h>

constexpr int kThreads = 64;  // of a block, and elements of a chunk
constexpr int kBlocks = 3;    // on each GPU

// A flag holds the number of a round. Its loads and stores are relaxed: they order nothing else.
__device__ inline void tell(unsigned* flag, unsigned round) {
  *static_cast<volatile unsigned*>(flag) = round;
}
__device__ inline void wait(unsigned* flag, unsigned round) {
  while (*static_cast<volatile unsigned*>(flag) != round) {
  }
}

// Blocks of the first GPU. In round 1, 2, ... block b puts chunk (round - 1) * kBlocks + b of x,
// each element doubled, into its place in the inbox. inbox and arrived lie on the second GPU; x and
// taken, which its blocks set, on this one. Of each flag there is one for each block, and it is 0.
__global__ void send_kernel(const float* x, int n, unsigned rounds, float* inbox, unsigned* arrived,
                            unsigned* taken) {
  float* const mine = inbox + blockIdx.x * kThreads + threadIdx.x;
  for (unsigned round = 1; round <= rounds; ++round) {
    // Until the chunk of the round before has been taken out of the inbox.
    if (threadIdx.x == 0) {
      wait(&taken[blockIdx.x], round - 1);
      __threadfence_system();
    }
    __syncthreads();

    const int i = static_cast<int>(((round - 1) * kBlocks + blockIdx.x) * kThreads + threadIdx.x);
    if (i < n) *mine = 2 * x[i];
    //@ task 1: tell arrived[blockIdx.x] the round
    //@ hint: the flag speaks for all threads of the block: have they all stored?
    //@ hint: __threadfence() reaches as far as the device does; who reads is on another one
    //@ hint: __syncthreads(), then thread 0: __threadfence_system() and tell()
    //@ instead: if (threadIdx.x == 0) {
    //@ instead:   __threadfence();
    //@ instead:   tell(&arrived[blockIdx.x], round);
    //@ instead: }
    //@ begin
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence_system();
      tell(&arrived[blockIdx.x], round);
    }
    //@ end
  }
}

// Blocks of the second GPU, which run at the same time: y = what comes, plus 1.
__global__ void receive_kernel(const float* inbox, int n, unsigned rounds, unsigned* arrived,
                               unsigned* taken, float* y) {
  const float* const mine = inbox + blockIdx.x * kThreads + threadIdx.x;
  for (unsigned round = 1; round <= rounds; ++round) {
    //@ task 2: wait until arrived[blockIdx.x] is the round
    //@ hint: one thread waits; what keeps the others from reading before?
    //@ hint: a flag that was seen orders nothing by itself: between it and the data belongs a fence
    //@ hint: thread 0: wait() and __threadfence_system(), then __syncthreads()
    //@ instead: if (threadIdx.x == 0) wait(&arrived[blockIdx.x], round);
    //@ instead: __threadfence();
    //@ begin
    if (threadIdx.x == 0) {
      wait(&arrived[blockIdx.x], round);
      __threadfence_system();
    }
    __syncthreads();
    //@ end

    const int i = static_cast<int>(((round - 1) * kBlocks + blockIdx.x) * kThreads + threadIdx.x);
    if (i < n) y[i] = *mine + 1;
    //@ task 3: tell taken[blockIdx.x] the round
    //@ hint: whoever sees this flag overwrites the inbox
    //@ hint: have all threads of the block read by now?
    //@ hint: the same three lines as in task 1, with the other flag
    //@ instead: if (threadIdx.x == 0) tell(&taken[blockIdx.x], round);
    //@ begin
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence_system();
      tell(&taken[blockIdx.x], round);
    }
    //@ end
  }
}
