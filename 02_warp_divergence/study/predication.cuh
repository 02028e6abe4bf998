// --sweep steps: an `if` whose body is short is no branch. The compiler lets every lane run the
// body and marks each instruction with a predicate, which keeps the result out where it is not
// wanted (predication). From some length on it branches, and a warp in which no lane wants the body
// skips it. One warp, clock cycles.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>

#include "common/bench/report.hpp"
#include "common/kit/check.cuh"
#include "common/kit/device_buffer.cuh"

namespace branch {

constexpr int kPredicationIterations = 64;

// One warp; its first `takers` lanes take the body in every iteration. kSteps multiply-adds that
// wait for each other make the body. *cycles: of all iterations together.
template <int kSteps, bool kSelect>
__global__ void predication_kernel(float* values, long long* cycles, int takers) {
  const float limit = static_cast<int>(threadIdx.x) < takers ? 100.0f : -100.0f;
  float value = values[threadIdx.x];  // and all that follow: within [-1.9, 1.71]
  const long long start = clock64();
#pragma unroll 1
  for (int i = 0; i < kPredicationIterations; ++i) {
    if (kSelect) {
      float walked = value;
#pragma unroll
      for (int step = 0; step < kSteps; ++step) walked = fmaf(walked, walked, -1.9f);
      value = value < limit ? walked : value;
    } else if (value < limit) {
#pragma unroll
      for (int step = 0; step < kSteps; ++step) value = fmaf(value, value, -1.9f);
    }
  }
  values[threadIdx.x] = value;
  if (threadIdx.x == 0) *cycles = clock64() - start;
}

// Cycles of one iteration: the least of several launches, for anything that interferes adds cycles.
template <int kSteps, bool kSelect>
double predication_cycles(int takers) {
  const kit::DeviceBuffer<float> d_values(32);
  const kit::DeviceBuffer<long long> d_cycles(1);
  long long least = 0;
  for (int launch = 0; launch < 10; ++launch) {
    CUDA_CHECK(cudaMemset(d_values.data(), 0, d_values.bytes()));
    predication_kernel<kSteps, kSelect><<<1, 32>>>(d_values.data(), d_cycles.data(), takers);
    CUDA_CHECK(cudaGetLastError());
    long long cycles = 0;
    CUDA_CHECK(cudaMemcpy(&cycles, d_cycles.data(), sizeof cycles, cudaMemcpyDeviceToHost));
    least = launch == 0 ? cycles : std::min(least, cycles);
  }
  return static_cast<double>(least) / kPredicationIterations;
}

// Adds: steps, cycles of the `if` with 0, 1 and 32 takers, cycles of the choice.
template <int kSteps>
void add_predication_point(bench::Sweep& sweep) {
  sweep.points.push_back(
      {kSteps, predication_cycles<kSteps, false>(0), predication_cycles<kSteps, false>(1),
       predication_cycles<kSteps, false>(32), predication_cycles<kSteps, true>(1)});
}

}  // namespace branch
