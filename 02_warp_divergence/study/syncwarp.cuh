// --demo syncwarp: lanes of a warp after a branch, and lanes that wait for each other.
//
// Since Volta each lane has its own program counter ("independent thread scheduling"). Lanes that
// parted at a branch need not be together again right behind it, and a lane may wait for another
// one of its own warp: sooner or later that one gets its turn.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

#include "common/kit/check.cuh"
#include "common/kit/device_buffer.cuh"

namespace warp_divergence {

// One warp. Each lane leaves a number for its neighbour, computed in one of two branches.
__global__ void pass_on_kernel(int* received) {
  __shared__ int box[32];
  const int lane = threadIdx.x;
  if (lane % 2 == 0) {
    box[lane] = 100 + lane;
  } else {
    box[lane] = 200 + lane;
  }
  __syncwarp();  // all lanes have written, and all see it; without it this is a race
  received[lane] = box[(lane + 1) % 32];
}

// One warp. Lane 0 waits until lane 1 has put a number into the box. Before Volta one program
// counter served all lanes: the warp could spin in lane 0's loop for ever and never come to lane
// 1's branch. Once it is 0, atomics alone touch the box: there is no race.
__global__ void wait_for_lane_kernel(int* received) {
  __shared__ int box;
  if (threadIdx.x == 0) box = 0;
  __syncwarp();
  if (threadIdx.x == 0) {
    int number = 0;
    while (number == 0) number = atomicAdd(&box, 0);  // an atomic way to read
    *received = number;
  } else if (threadIdx.x == 1) {
    atomicExch(&box, 42);
  }
}

inline std::vector<int> passed_on() {
  const kit::DeviceBuffer<int> d_received(32);
  pass_on_kernel<<<1, 32>>>(d_received.data());
  CUDA_CHECK(cudaGetLastError());
  std::vector<int> received(32);
  CUDA_CHECK(
      cudaMemcpy(received.data(), d_received.data(), d_received.bytes(), cudaMemcpyDeviceToHost));
  return received;
}

inline int waited_for() {
  const kit::DeviceBuffer<int> d_received(1);
  wait_for_lane_kernel<<<1, 32>>>(d_received.data());
  CUDA_CHECK(cudaGetLastError());
  int received = 0;
  CUDA_CHECK(cudaMemcpy(&received, d_received.data(), sizeof received, cudaMemcpyDeviceToHost));
  return received;
}

inline void syncwarp_demo() {
  const std::vector<int> received = passed_on();
  std::printf(
      "passed on after a branch and __syncwarp: lane 0 got %d, lane 1 got %d, lane 31 got %d\n",
      received[0], received[1], received[31]);
  std::printf("lane 0 waited for lane 1 and got %d\n", waited_for());
}

}  // namespace warp_divergence
