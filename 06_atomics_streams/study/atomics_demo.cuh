// --demo atomics: every atomic function once, on a cell of its own: before, operand, after.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

#include "common/kit/check.cuh"
#include "common/kit/device_buffer.cuh"

namespace atomics_streams {

struct AtomicCall {
  const char* call;
  unsigned before;  // what the cell held, and what the function must return
  unsigned after;   // what the cell must hold then
};

// In the order of the kernel below.
inline std::vector<AtomicCall> atomic_calls() {
  return {{"atomicAdd(p, 5)", 12, 17},
          {"atomicSub(p, 5)", 12, 7},
          {"atomicExch(p, 5)", 12, 5},
          {"atomicMin(p, 5)", 12, 5},
          {"atomicMax(p, 5)", 12, 12},
          {"atomicInc(p, 15)", 12, 13},
          {"atomicInc(p, 12)", 12, 0},  // at the limit it starts again at 0
          {"atomicDec(p, 15)", 12, 11},
          {"atomicDec(p, 15)", 0, 15},  // at 0 it starts again at the limit
          {"atomicCAS(p, 12, 5)", 12, 5},
          {"atomicCAS(p, 13, 5)", 12, 12},
          {"atomicAnd(p, 5)", 12, 4},
          {"atomicOr(p, 5)", 12, 13},
          {"atomicXor(p, 5)", 12, 9},
          {"atomicAdd_block(p, 5)", 12, 17},
          {"atomicAdd_system(p, 5)", 12, 17}};
}

// returned[k] = what call k returned.
__global__ void atomics_demo_kernel(unsigned* cell, unsigned* returned) {
  returned[0] = atomicAdd(&cell[0], 5u);
  returned[1] = atomicSub(&cell[1], 5u);
  returned[2] = atomicExch(&cell[2], 5u);
  returned[3] = atomicMin(&cell[3], 5u);
  returned[4] = atomicMax(&cell[4], 5u);
  returned[5] = atomicInc(&cell[5], 15u);
  returned[6] = atomicInc(&cell[6], 12u);
  returned[7] = atomicDec(&cell[7], 15u);
  returned[8] = atomicDec(&cell[8], 15u);
  returned[9] = atomicCAS(&cell[9], 12u, 5u);
  returned[10] = atomicCAS(&cell[10], 13u, 5u);
  returned[11] = atomicAnd(&cell[11], 5u);
  returned[12] = atomicOr(&cell[12], 5u);
  returned[13] = atomicXor(&cell[13], 5u);
  returned[14] = atomicAdd_block(&cell[14], 5u);
  returned[15] = atomicAdd_system(&cell[15], 5u);
}

struct AtomicOutcome {
  unsigned returned, after;
};

// What this device really does, call by call.
inline std::vector<AtomicOutcome> run_atomics_demo() {
  const std::vector<AtomicCall> calls = atomic_calls();
  std::vector<unsigned> cells, returned(calls.size());
  for (const AtomicCall& call : calls) cells.push_back(call.before);
  const kit::DeviceBuffer<unsigned> d_cells(cells.size()), d_returned(cells.size());
  CUDA_CHECK(cudaMemcpy(d_cells.data(), cells.data(), d_cells.bytes(), cudaMemcpyHostToDevice));
  atomics_demo_kernel<<<1, 1>>>(d_cells.data(), d_returned.data());
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaMemcpy(cells.data(), d_cells.data(), d_cells.bytes(), cudaMemcpyDeviceToHost));
  CUDA_CHECK(
      cudaMemcpy(returned.data(), d_returned.data(), d_returned.bytes(), cudaMemcpyDeviceToHost));
  std::vector<AtomicOutcome> outcomes;
  for (std::size_t k = 0; k < calls.size(); ++k) outcomes.push_back({returned[k], cells[k]});
  return outcomes;
}

inline void atomics_demo() {
  const std::vector<AtomicCall> calls = atomic_calls();
  const std::vector<AtomicOutcome> outcomes = run_atomics_demo();
  std::printf("%-26s %8s %8s %8s\n", "call", "before", "returns", "after");
  for (std::size_t k = 0; k < calls.size(); ++k) {
    std::printf("%-26s %8u %8u %8u\n", calls[k].call, calls[k].before, outcomes[k].returned,
                outcomes[k].after);
  }
}

}  // namespace atomics_streams
