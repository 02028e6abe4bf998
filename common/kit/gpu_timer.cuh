// SPDX-License-Identifier: MIT
// Timer for work on a GPU. A launch returns before the kernel has run, so a CPU clock around it
// measures the launch. Events are put into the stream instead: the GPU stamps them in passing.
#pragma once

#include <limits>
#include <vector>

#include "common/kit/check.cuh"
#include "common/kit/cpu_timer.hpp"

namespace kit {

class GpuTimer {
 public:
  GpuTimer() {
    CUDA_CHECK(cudaEventCreate(&start_));
    CUDA_CHECK(cudaEventCreate(&stop_));
  }
  ~GpuTimer() {
    cudaEventDestroy(start_);
    cudaEventDestroy(stop_);
  }
  GpuTimer(const GpuTimer&) = delete;
  GpuTimer& operator=(const GpuTimer&) = delete;

  void start(cudaStream_t stream = nullptr) { CUDA_CHECK(cudaEventRecord(start_, stream)); }
  void stop(cudaStream_t stream = nullptr) { CUDA_CHECK(cudaEventRecord(stop_, stream)); }

  // Waits for stop() to be reached; milliseconds between the two events (resolution about 0.5 us).
  double elapsed_ms() {
    float ms = 0;
    CUDA_CHECK(cudaEventSynchronize(stop_));
    CUDA_CHECK(cudaEventElapsedTime(&ms, start_, stop_));
    return ms;
  }

  // Milliseconds that work() takes in the default stream: the median of up to 11 runs, after a
  // fifth of a second to warm up, in which the clock of the GPU rises. prepare() comes before each
  // run and is not timed; what it puts into the stream keeps the GPU busy while the CPU launches
  // work(), so that the launch is not timed either. Without a GPU: one run, and no number (NaN).
  template <class Prepare, class Work>
  double median_ms(Prepare prepare, Work work) {
    const CpuTimer whole;
    do {
      prepare();
      work();
      CUDA_CHECK(cudaDeviceSynchronize());
    } while (kHasGpu && whole.elapsed_ms() < 200);
    if (!kHasGpu) return std::numeric_limits<double>::quiet_NaN();

    std::vector<double> times;
    do {
      prepare();
      start();
      work();
      stop();
      times.push_back(elapsed_ms());
    } while (times.size() < 11 && whole.elapsed_ms() < 2000);
    return median(times);
  }
  template <class Work>
  double median_ms(Work work) {
    return median_ms([] {}, work);
  }

 private:
  cudaEvent_t start_ = nullptr;
  cudaEvent_t stop_ = nullptr;
};

}  // namespace kit
