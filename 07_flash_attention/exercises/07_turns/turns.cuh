// Exercise 07/turns: two groups of warps that use something in turns (ping-pong).
#pragma once

#include <cuda_runtime.h>

#include "common/kit/ptx/roles.cuh"

constexpr int kGroup = 64;  // threads of a group: two warps (a warpgroup has four)

// Group 0 and group 1 take turns. Barrier 1 + g is that of group g: at each of the two, one group
// waits, and the other one only says that it has come.
struct Turn {
  int group;

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  // Until it is this group's turn.
  __device__ void wait() const {
    //@ task 1: wait at your own barrier
    //@ hint: ptx::named_barrier_sync(id, threads): until so many threads have come
    //@ hint: those of this group, which wait, and those of the other, which arrive: 2 * kGroup
    //@ hint: barrier 1 + group
    //@ begin
    ptx::named_barrier_sync(1 + group, 2 * kGroup);
    //@ end
  }
  // The other group may begin.
  __device__ void pass_on() const {
    //@ task 2: come to the other's barrier, without waiting there
    //@ hint: ptx::named_barrier_arrive(id, threads) returns at once
    //@ hint: the other group is 1 - group
    //@ hint: the number of threads is that of the whole barrier again: 2 * kGroup
    //@ begin
    ptx::named_barrier_arrive(1 + (1 - group), 2 * kGroup);
    //@ end
  }
#endif
};

// Each of the two groups has `rounds` turns, group 0 the first. In its turn a group changes all
// elements of tile, and writes down who it was: log[turn] = group.
__global__ void turns_kernel(float* tile, int* log, int rounds) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  __shared__ float shared[kGroup];
  __shared__ int turns;
  const int group = threadIdx.x / kGroup, t = threadIdx.x % kGroup;
  if (group == 0) shared[t] = tile[t];
  if (threadIdx.x == 0) turns = 0;
  __syncthreads();

  const Turn turn{group};
  //@ task 3: somebody must let group 0 begin
  //@ hint: it waits for its first turn like for all others, so somebody must pass one on to it
  //@ hint: before the loop, once, by the other group
  //@ hint: if (group == 1) turn.pass_on()
  //@ begin
  if (group == 1) turn.pass_on();
  //@ end
  for (int r = 0; r < rounds; ++r) {
    turn.wait();
    shared[t] = 2 * shared[t] + group;  // group 0 doubles, group 1 doubles and adds 1
    if (t == 0) log[turns++] = group;
    turn.pass_on();
  }
  //@ task 4: nobody may leave while a turn that was passed on to him is unclaimed
  //@ hint: after the loop the last turn of all has been passed on. To whom?
  //@ hint: group 1 has the last turn, and passes it on to group 0
  //@ hint: if (group == 0) turn.wait()
  //@ begin
  if (group == 0) turn.wait();
  //@ end
  if (group == 0) tile[t] = shared[t];
#endif
}

inline void take_turns(float* tile, int* log, int rounds) {
  turns_kernel<<<1, 2 * kGroup>>>(tile, log, rounds);
}
