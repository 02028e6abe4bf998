// SPDX-License-Identifier: MIT
// Chapter 05 in one file: the sum of n numbers.
//
//   nvcc -O3 -I.. -Xcompiler -fopenmp reduction.cu -o reduction && ./reduction [n]
//
// Without a GPU write ../simt/nvcc for nvcc.
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

// ---------------------------------------------------------------- on the CPU
void sequential(const float* x, float* sum, Size n) {
  float total = 0;
  for (Size i = 0; i < n; ++i) total += x[i];
  *sum = total;
}

// Each core has a total of its own; reduction(+ : total) adds them up at the end.
void openmp(const float* x, float* sum, Size n) {
  float total = 0;
#pragma omp parallel for schedule(static) reduction(+ : total)
  for (Size i = 0; i < n; ++i) total += x[i];
  *sum = total;
}

// ---------------------------------------------------------------- on the GPU
// A thread for each element. *sum is zero before the launch. Blocks are large, because each has to
// wait until it can add its total to *sum.
constexpr int kBlock = 1024, kWarp = 32;

__device__ float element(const float* x, Size n) {
  const Size i = Size{blockIdx.x} * kBlock + threadIdx.x;
  return i < n ? x[i] : 0;  // 0 changes no sum, and all threads of a block stay to help
}

// All n threads want the same word, and queue for it.
__global__ void atomic(const float* x, float* sum, Size n) { atomicAdd(sum, element(x, n)); }

// The block adds in pairs: 512 threads at the first level of the tree, 256 at the second, ... It
// waits at each level, and ends with one total and one atomicAdd.
__global__ void tree(const float* x, float* sum, Size n) {
  __shared__ float part[kBlock];
  const int thread = threadIdx.x;
  part[thread] = element(x, n);
  for (int half = kBlock / 2; half > 0; half /= 2) {
    __syncthreads();  // the level before is complete
    if (thread < half) part[thread] += part[thread + half];
  }
  if (thread == 0) atomicAdd(sum, part[0]);
}

// The total of a warp, in lane 0: at each level a lane gets the number of the lane `half` further
// on from its register. It needs no shared memory and no barrier: the lanes take each step
// together.
__device__ float warp_total(float value) {
  for (int half = kWarp / 2; half > 0; half /= 2) value += __shfl_down_sync(~0u, value, half);
  return value;
}

// Two such trees, of 32 lanes and of 32 warps, with one barrier between them.
__global__ void shuffles(const float* x, float* sum, Size n) {
  __shared__ float part[kBlock / kWarp];
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  const float total = warp_total(element(x, n));
  if (lane == 0) part[warp] = total;
  __syncthreads();  // all warps have left their totals
  if (warp > 0) return;
  static_assert(kBlock / kWarp == kWarp, "the first warp takes one total per lane");
  const float whole = warp_total(part[lane]);
  if (lane == 0) atomicAdd(sum, whole);
}

// ---------------------------------------------------------------- check and print
// A row of the table begins. A dash stands for NaN: a kernel where there is no GPU to time it.
void print_times(const char* name, double ms, double bytes, double sequential_ms) {
  std::printf("\n%-12s", name);
  for (const double value : {ms, bytes / ms / 1e6, sequential_ms / ms}) {
    std::isnan(value) ? std::printf("%11s", "-") : std::printf("%11.3f", value);
  }
}

// The numbers are whole and small, and none is 0. As long as sums stay below 2^24, floats add them
// without any rounding, in every order. So only the same sum is right, and a lost number shows.
bool print_verdict(float sum, double expected) {
  constexpr double kBound = 0;
  const double error = std::fabs(sum - expected);
  const bool right = error <= kBound;  // NaN is not <= kBound, so it is wrong
  std::printf("%11.1e  %s", error, right ? "right" : "WRONG");
  if (!right) std::printf("\n  sum = %.9g, expected %.9g", sum, expected);
  return right;
}

// ---------------------------------------------------------------- the protocol
bool run(Size n) {
  const double bytes = 4.0 * n;
  kit::require_memory(bytes, bytes + sizeof(float));
  std::vector<float> x(n);
  std::mt19937 random(7);
  std::uniform_int_distribution<int> uniform(-8, 7);  // 0 to 7 become 1 to 8
  double expected = 0;
  for (float& value : x) {
    const int drawn = uniform(random);
    expected += value = static_cast<float>(drawn < 0 ? drawn : drawn + 1);
  }

  cudaDeviceProp device;
  CUDA_CHECK(cudaGetDeviceProperties(&device, 0));
  std::printf("sum of n numbers, n = %lld\n", n);
  std::printf("%d OpenMP threads; %s%s\n", kit::openmp_threads(), device.name,
              kit::kHasGpu ? "" : ": kernels are checked here, not timed");
  std::printf("%-12s%11s%11s%11s%11s", "variant", "ms", "GB/s", "x seq", "error");
  bool right = true;

  // On the CPU. NaN: what nobody writes is not right by chance.
  float sum = NAN;
  kit::CpuTimer cpu;
  const auto forget = [&] { sum = NAN; };
  const double sequential_ms = cpu.median_ms(forget, [&] { sequential(x.data(), &sum, n); });
  print_times("sequential", sequential_ms, bytes, sequential_ms);
  right &= print_verdict(sum, expected);
  if (kit::openmp_threads() > 0) {
    const double ms = cpu.median_ms(forget, [&] { openmp(x.data(), &sum, n); });
    print_times("openmp", ms, bytes, sequential_ms);
    right &= print_verdict(sum, expected);
  } else {
    std::printf("\n%-12s  skipped: built without -Xcompiler -fopenmp", "openmp");
  }

  // To the GPU. d_: memory of the device.
  const std::size_t size = n * sizeof(float);
  float *d_x, *d_sum;
  CUDA_CHECK(cudaMalloc(&d_x, size));
  CUDA_CHECK(cudaMalloc(&d_sum, sizeof(float)));
  kit::GpuTimer gpu;
  const double in_ms =
      gpu.median_ms([&] { CUDA_CHECK(cudaMemcpy(d_x, x.data(), size, cudaMemcpyHostToDevice)); });
  print_times("copy in", in_ms, bytes, sequential_ms);

  const auto blocks = static_cast<unsigned>((n + kBlock - 1) / kBlock);
  const auto measure = [&](const char* name, auto kernel) {
    const auto prepare = [&] { CUDA_CHECK(cudaMemset(d_sum, 0, sizeof(float))); };
    const double ms = gpu.median_ms(prepare, [&] {
      kernel<<<blocks, kBlock>>>(d_x, d_sum, n);
      CUDA_CHECK(cudaGetLastError());  // a launch returns nothing: this says whether it began
    });
    forget();
    CUDA_CHECK(cudaMemcpy(&sum, d_sum, sizeof(float), cudaMemcpyDeviceToHost));
    print_times(name, ms, bytes, sequential_ms);
    right &= print_verdict(sum, expected);
  };
  measure("atomic", atomic);
  measure("tree", tree);
  measure("shuffles", shuffles);

  // And back: four bytes.
  const double out_ms = gpu.median_ms(
      [&] { CUDA_CHECK(cudaMemcpy(&sum, d_sum, sizeof(float), cudaMemcpyDeviceToHost)); });
  print_times("copy out", out_ms, sizeof(float), sequential_ms);
  CUDA_CHECK(cudaFree(d_x));
  CUDA_CHECK(cudaFree(d_sum));
  std::printf("\n");
  return right;
}

int main(int argc, char** argv) try {
  Size n = kit::kHasGpu ? 1 << 26 : 1 << 20;
  if (argc == 2) {
    char* end = nullptr;
    n = std::strtoll(argv[1], &end, 10);
    if (*end != 0) n = 0;
  }
  if (argc > 2 || n < 1) throw std::invalid_argument("usage: reduction [n], n from 1 up");
  return run(n) ? 0 : 1;
} catch (const std::invalid_argument& bad) {  // an argument, or a size for which memory lacks
  std::fprintf(stderr, "reduction: %s\n", bad.what());
  return 2;
} catch (const std::exception& error) {
  std::fprintf(stderr, "\nreduction: %s\n", error.what());
  return 1;
}
