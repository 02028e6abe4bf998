// SPDX-License-Identifier: MIT
// Chapter 06 in one file: the histogram of n bytes, and copies that run beside kernels.
//
//   nvcc -O3 -I.. -Xcompiler -fopenmp atomics_streams.cu -o atomics_streams
//   ./atomics_streams [n]
//
// Without a GPU write ../simt/nvcc for nvcc.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <stdexcept>
#include <vector>

#include "common/kit/check.cuh"
#include "common/kit/cpu_timer.hpp"
#include "common/kit/gpu_timer.cuh"

using Size = long long;  // 64 bits: arrays may have more than 2^31 elements
using Byte = unsigned char;
using Count = unsigned long long;  // the 64-bit type that atomicAdd takes
constexpr int kBins = 256;

// ---------------------------------------------------------------- on the CPU
void sequential(const Byte* x, Count* bins, Size n) {
  for (Size i = 0; i < n; ++i) ++bins[x[i]];
}

// Each core counts into bins of its own; reduction adds them up at the end.
void openmp(const Byte* x, Count* bins, Size n) {
#pragma omp parallel for schedule(static) reduction(+ : bins[:kBins])
  for (Size i = 0; i < n; ++i) ++bins[x[i]];
}

// ---------------------------------------------------------------- on the GPU
// Bins are zero before the launch, or hold what was counted so far.
constexpr int kBlock = 256;  // threads of a block

// A thread for each byte. ++bins[x[i]] would lose counts: two threads may read the same old value.
// An atomic is a read, a change and a write with no other access in between: whoever comes second
// waits.
__global__ void global_bins(const Byte* x, Count* bins, Size n) {
  const Size i = Size{blockIdx.x} * kBlock + threadIdx.x;
  if (i < n) atomicAdd(&bins[x[i]], Count{1});
}

// Privatized: each block counts into bins of its own, in shared memory, and adds them to the common
// ones once, at the end. There are as few blocks as fill the GPU, each with many bytes.
__global__ void private_bins(const Byte* x, Count* bins, Size n) {
  __shared__ unsigned own[kBins];
  for (int b = threadIdx.x; b < kBins; b += kBlock) own[b] = 0;
  __syncthreads();  // nobody counts before all bins are zero
  const Size stride = Size{gridDim.x} * kBlock;
  const Size first = Size{blockIdx.x} * kBlock + threadIdx.x;
  for (Size i = first; i < n; i += stride) atomicAdd(&own[x[i]], 1u);
  __syncthreads();  // all have counted
  for (int b = threadIdx.x; b < kBins; b += kBlock) atomicAdd(&bins[b], Count{own[b]});
}

// In chunks. Work in one stream runs in order: a chunk is copied, then counted. Streams run side by
// side: while one chunk is counted, the next ones are on their way.
constexpr int kStreams = 4, kChunks = 16;

void copy_and_count(const Byte* x, Byte* d_x, Count* d_bins, Size n, cudaStream_t* streams,
                    int blocks) {
  const Size chunk = (n + kChunks - 1) / kChunks;
  for (Size first = 0, i = 0; first < n; first += chunk, ++i) {
    const Size length = std::min(chunk, n - first);
    const cudaStream_t stream = streams[i % kStreams];
    CUDA_CHECK(cudaMemcpyAsync(d_x + first, x + first, length, cudaMemcpyHostToDevice, stream));
    private_bins<<<blocks, kBlock, 0, stream>>>(d_x + first, d_bins, length);
    CUDA_CHECK(cudaGetLastError());
  }
}

// ---------------------------------------------------------------- check and print
// A row of the table begins. A dash stands for NaN: a kernel where there is no GPU to time it.
void print_times(const char* name, double ms, double bytes, double sequential_ms) {
  std::printf("\n%-12s", name);
  for (const double value : {ms, bytes / ms / 1e6, sequential_ms / ms}) {
    std::isnan(value) ? std::printf("%11s", "-") : std::printf("%11.3f", value);
  }
}

// Counts are whole numbers: only equal ones are right.
bool print_verdict(const std::vector<Count>& bins, const std::vector<Count>& expected) {
  double largest = 0;
  int wrong = kBins;  // the first one
  for (int b = kBins - 1; b >= 0; --b) {
    if (bins[b] != expected[b]) wrong = b;
    largest = std::fmax(largest, std::fabs(double(bins[b]) - double(expected[b])));
  }
  std::printf("%11.1e  %s", largest, wrong == kBins ? "right" : "WRONG");
  if (wrong == kBins) return true;
  std::printf("\n  first: bins[%d] = %llu, expected %llu", wrong, bins[wrong], expected[wrong]);
  return false;
}

// ---------------------------------------------------------------- the protocol
bool run(Size n) {
  kit::require_memory(1.0 * n, 1.0 * n + kBins * sizeof(Count));
  // Pinned: these pages stay where they are, so that the GPU can fetch them by itself while the CPU
  // goes on. Without that a copy is not asynchronous.
  Byte* x;
  CUDA_CHECK(cudaMallocHost(&x, n));
  std::mt19937 random(7);
  std::generate(x, x + n, [&] { return static_cast<Byte>(random()); });

  cudaDeviceProp device;
  CUDA_CHECK(cudaGetDeviceProperties(&device, 0));
  std::printf("histogram of bytes, n = %lld\n", n);
  std::printf("%d OpenMP threads; %s%s\n", kit::openmp_threads(), device.name,
              kit::kHasGpu ? "" : ": kernels are checked here, not timed");
  std::printf("%-12s%11s%11s%11s%11s", "variant", "ms", "GB/s", "x seq", "error");
  bool right = true;

  // On the CPU.
  std::vector<Count> bins(kBins);
  kit::CpuTimer cpu;
  const auto clear = [&] { std::fill(bins.begin(), bins.end(), 0); };
  const double sequential_ms = cpu.median_ms(clear, [&] { sequential(x, bins.data(), n); });
  const std::vector<Count> expected = bins;
  print_times("sequential", sequential_ms, n, sequential_ms);
  std::printf("%11s  reference", "-");
  if (kit::openmp_threads() > 0) {
    const double ms = cpu.median_ms(clear, [&] { openmp(x, bins.data(), n); });
    print_times("openmp", ms, n, sequential_ms);
    right &= print_verdict(bins, expected);
  } else {
    std::printf("\n%-12s  skipped: built without -Xcompiler -fopenmp", "openmp");
  }

  // To the GPU. d_: memory of the device.
  const std::size_t bins_size = kBins * sizeof(Count);
  Byte* d_x;
  Count* d_bins;
  CUDA_CHECK(cudaMalloc(&d_x, n));
  CUDA_CHECK(cudaMalloc(&d_bins, bins_size));
  kit::GpuTimer gpu;
  const double in_ms =
      gpu.median_ms([&] { CUDA_CHECK(cudaMemcpy(d_x, x, n, cudaMemcpyHostToDevice)); });
  print_times("copy in", in_ms, n, sequential_ms);

  const auto measure = [&](const char* name, auto work) {
    const auto prepare = [&] { CUDA_CHECK(cudaMemset(d_bins, 0, bins_size)); };
    const double ms = gpu.median_ms(prepare, work);
    std::fill(bins.begin(), bins.end(), ~Count{0});
    CUDA_CHECK(cudaMemcpy(bins.data(), d_bins, bins_size, cudaMemcpyDeviceToHost));
    print_times(name, ms, n, sequential_ms);
    right &= print_verdict(bins, expected);
  };
  const auto blocks = static_cast<unsigned>((n + kBlock - 1) / kBlock);
  const int fitting = device.multiProcessorCount * (device.maxThreadsPerMultiProcessor / kBlock);
  measure("global", [&] {
    global_bins<<<blocks, kBlock>>>(d_x, d_bins, n);
    CUDA_CHECK(cudaGetLastError());  // a launch returns nothing: this says whether it began
  });
  measure("privatized", [&] {
    private_bins<<<fitting, kBlock>>>(d_x, d_bins, n);
    CUDA_CHECK(cudaGetLastError());
  });

  // From here on the copy in counts, too.
  CUDA_CHECK(cudaMemset(d_x, 0, n));  // the bytes have to come again
  measure("copy, count", [&] {
    CUDA_CHECK(cudaMemcpyAsync(d_x, x, n, cudaMemcpyHostToDevice));
    private_bins<<<fitting, kBlock>>>(d_x, d_bins, n);
    CUDA_CHECK(cudaGetLastError());
  });

  // The timer's events are in the default stream, which waits for these streams, and they for it.
  cudaStream_t streams[kStreams];
  for (cudaStream_t& stream : streams) CUDA_CHECK(cudaStreamCreate(&stream));
  CUDA_CHECK(cudaMemset(d_x, 0, n));
  measure("streams", [&] { copy_and_count(x, d_x, d_bins, n, streams, fitting); });

  // And back.
  const double out_ms = gpu.median_ms(
      [&] { CUDA_CHECK(cudaMemcpy(bins.data(), d_bins, bins_size, cudaMemcpyDeviceToHost)); });
  print_times("copy out", out_ms, bins_size, sequential_ms);
  for (const cudaStream_t stream : streams) CUDA_CHECK(cudaStreamDestroy(stream));
  CUDA_CHECK(cudaFree(d_x));
  CUDA_CHECK(cudaFree(d_bins));
  CUDA_CHECK(cudaFreeHost(x));
  std::printf("\n");
  return right;
}

int main(int argc, char** argv) try {
  Size n = kit::kHasGpu ? 1 << 28 : 1 << 22;
  if (argc == 2) {
    char* end = nullptr;
    n = std::strtoll(argv[1], &end, 10);
    if (*end != 0) n = 0;
  }
  if (argc > 2 || n < 1) throw std::invalid_argument("usage: atomics_streams [n], n from 1 up");
  return run(n) ? 0 : 1;
} catch (const std::invalid_argument& bad) {  // an argument, or a size for which memory lacks
  std::fprintf(stderr, "atomics_streams: %s\n", bad.what());
  return 2;
} catch (const std::exception& error) {
  std::fprintf(stderr, "\natomics_streams: %s\n", error.what());
  return 1;
}
