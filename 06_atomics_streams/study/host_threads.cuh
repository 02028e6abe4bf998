// --demo host_threads: four threads of the host feed one GPU, each through its own default stream.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <future>
#include <vector>

#include "common/kit/check.cuh"
#include "common/kit/device_buffer.cuh"
#include "common/kit/launch.cuh"

namespace atomics_streams {

constexpr int kHostThreads = 4;
constexpr int kHostThreadSteps = 50;  // kernels that one host thread launches
constexpr int kHostThreadWords = 1000;

__global__ void host_threads_step_kernel(unsigned* x, int n, unsigned step) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += step;
}

// What one host thread does: its own array, a chain of kernels, its own result. Nothing here waits
// for the work of another thread, though nobody has created a stream.
inline std::vector<unsigned> work_of_host_thread(unsigned step) {
  const cudaStream_t own = cudaStreamPerThread;  // a different stream in every host thread
  const kit::DeviceBuffer<unsigned> x(kHostThreadWords);
  const std::size_t bytes = kHostThreadWords * sizeof(unsigned);
  std::vector<unsigned> result(kHostThreadWords);

  CUDA_CHECK(cudaMemsetAsync(x.data(), 0, bytes, own));
  const int block = 256, grid = kit::divide_up(kHostThreadWords, block);
  for (int k = 0; k < kHostThreadSteps; ++k) {
    host_threads_step_kernel<<<grid, block, 0, own>>>(x.data(), kHostThreadWords, step);
  }
  CUDA_CHECK(cudaGetLastError());  // each host thread has its own last error
  CUDA_CHECK(cudaMemcpyAsync(result.data(), x.data(), bytes, cudaMemcpyDeviceToHost, own));
  CUDA_CHECK(cudaStreamSynchronize(own));  // cudaDeviceSynchronize() would wait for all threads
  return result;
}

// The result of each host thread, all at work at the same time. An error in one of them is thrown
// here.
inline std::vector<std::vector<unsigned>> run_host_threads() {
  std::vector<std::future<std::vector<unsigned>>> threads;
  for (unsigned t = 0; t < kHostThreads; ++t) {
    threads.push_back(std::async(std::launch::async, work_of_host_thread, t + 1));
  }
  std::vector<std::vector<unsigned>> results;
  for (auto& thread : threads) results.push_back(thread.get());
  return results;
}

inline void host_threads_demo() {
  const auto results = run_host_threads();
  for (unsigned t = 0; t < kHostThreads; ++t) {
    const unsigned expected = (t + 1) * kHostThreadSteps;
    const auto right = std::count(results[t].begin(), results[t].end(), expected);
    std::printf("host thread %u: %d of %d words are %u\n", t, static_cast<int>(right),
                kHostThreadWords, expected);
  }
}

}  // namespace atomics_streams
