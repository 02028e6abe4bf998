// SPDX-License-Identifier: MIT
// Chapter 01 in one file: y = x + y, by a loop, on all cores and on a GPU.
//
//   nvcc -O3 -I.. -Xcompiler -fopenmp vector_add.cu -o vector_add && ./vector_add [n]
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
void sequential(const float* x, float* y, Size n) {
  for (Size i = 0; i < n; ++i) y[i] += x[i];
}

// No element depends on another one: each core takes a part of them.
void openmp(const float* x, float* y, Size n) {
#pragma omp parallel for schedule(static)
  for (Size i = 0; i < n; ++i) y[i] += x[i];
}

// ---------------------------------------------------------------- on the GPU
constexpr int kBlock = 256;  // threads of a block

// The loop is gone: there is a thread for each element. The last block may have more threads than
// elements are left.
__global__ void one_each(const float* x, float* y, Size n) {
  const Size i = Size{blockIdx.x} * kBlock + threadIdx.x;
  if (i < n) y[i] += x[i];
}

// As many threads as the GPU has room for, whatever n is. Each takes its element, then the one that
// lies a whole grid further on: neighbours in a warp stay neighbours in memory.
__global__ void grid_stride(const float* x, float* y, Size n) {
  const Size stride = Size{gridDim.x} * kBlock;
  const Size first = Size{blockIdx.x} * kBlock + threadIdx.x;
  for (Size i = first; i < n; i += stride) y[i] += x[i];
}

// Four neighbours per thread, loaded and stored by one instruction of 16 bytes: more bytes are on
// their way at any time. The last thread may find fewer than four.
__global__ void vectorized(const float* x, float* y, Size n) {
  const Size first = 4 * (Size{blockIdx.x} * kBlock + threadIdx.x);
  if (first + 4 <= n) {
    float4* to = reinterpret_cast<float4*>(y + first);
    const float4 a = *reinterpret_cast<const float4*>(x + first), b = *to;
    *to = {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w};
  } else {
    for (Size i = first; i < n; ++i) y[i] += x[i];
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

// An addition is rounded in the same way on every machine: nothing but the same number is right.
bool print_verdict(const std::vector<float>& y, const std::vector<float>& expected) {
  constexpr double kBound = 0;
  double largest = 0;
  std::size_t wrong = y.size();  // the first one
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double error = std::fabs(double{y[i]} - expected[i]);
    largest = std::fmax(largest, error);
    if (!(error <= kBound) && wrong == y.size()) wrong = i;  // NaN is not <= kBound, so it is wrong
  }
  std::printf("%11.1e  %s", largest, wrong == y.size() ? "right" : "WRONG");
  if (wrong == y.size()) return true;
  std::printf("\n  first: y[%zu] = %g, expected %g", wrong, y[wrong], expected[wrong]);
  return false;
}

// ---------------------------------------------------------------- the protocol
bool run(Size n) {
  kit::require_memory(16.0 * n, 12.0 * n);  // x, y, the initial y, expected; on the GPU the first 3
  std::vector<float> x(n), initial(n);
  std::mt19937 random(7);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (float& value : x) value = uniform(random);
  for (float& value : initial) value = uniform(random);

  cudaDeviceProp device;
  CUDA_CHECK(cudaGetDeviceProperties(&device, 0));
  std::printf("y = x + y, n = %lld\n", n);
  std::printf("%d OpenMP threads; %s%s\n", kit::openmp_threads(), device.name,
              kit::kHasGpu ? "" : ": kernels are checked here, not timed");
  std::printf("%-12s%11s%11s%11s%11s", "variant", "ms", "GB/s", "x seq", "error");
  const double bytes = 12.0 * n;  // x and y are read, y is written
  bool right = true;

  // On the CPU. y changes, so every run begins with the initial one.
  std::vector<float> y;
  kit::CpuTimer cpu;
  const auto reset = [&] { y = initial; };
  const double sequential_ms = cpu.median_ms(reset, [&] { sequential(x.data(), y.data(), n); });
  const std::vector<float> expected = y;
  print_times("sequential", sequential_ms, bytes, sequential_ms);
  std::printf("%11s  reference", "-");
  if (kit::openmp_threads() > 0) {
    const double ms = cpu.median_ms(reset, [&] { openmp(x.data(), y.data(), n); });
    print_times("openmp", ms, bytes, sequential_ms);
    right &= print_verdict(y, expected);
  } else {
    std::printf("\n%-12s  skipped: built without -Xcompiler -fopenmp", "openmp");
  }

  // To the GPU. d_: memory of the device.
  const std::size_t size = n * sizeof(float);
  float *d_x, *d_y, *d_initial;
  CUDA_CHECK(cudaMalloc(&d_x, size));
  CUDA_CHECK(cudaMalloc(&d_y, size));
  CUDA_CHECK(cudaMalloc(&d_initial, size));
  kit::GpuTimer gpu;
  const double in_ms = gpu.median_ms([&] {
    CUDA_CHECK(cudaMemcpy(d_x, x.data(), size, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(d_initial, initial.data(), size, cudaMemcpyHostToDevice));
  });
  print_times("copy in", in_ms, 2.0 * size, sequential_ms);

  const auto measure = [&](const char* name, auto launch) {
    const auto prepare = [&] {
      CUDA_CHECK(cudaMemcpy(d_y, d_initial, size, cudaMemcpyDeviceToDevice));
    };
    const double ms = gpu.median_ms(prepare, [&] {
      launch();
      CUDA_CHECK(cudaGetLastError());  // a launch returns nothing: this says whether it began
    });
    std::fill(y.begin(), y.end(), NAN);
    CUDA_CHECK(cudaMemcpy(y.data(), d_y, size, cudaMemcpyDeviceToHost));
    print_times(name, ms, bytes, sequential_ms);
    right &= print_verdict(y, expected);
  };
  const auto blocks_for = [](Size threads) {
    return static_cast<unsigned>((threads + kBlock - 1) / kBlock);
  };
  const int fitting = device.multiProcessorCount * (device.maxThreadsPerMultiProcessor / kBlock);
  measure("one_each", [&] { one_each<<<blocks_for(n), kBlock>>>(d_x, d_y, n); });
  measure("grid_stride", [&] { grid_stride<<<fitting, kBlock>>>(d_x, d_y, n); });
  measure("vectorized", [&] { vectorized<<<blocks_for((n + 3) / 4), kBlock>>>(d_x, d_y, n); });

  // And back.
  const double out_ms =
      gpu.median_ms([&] { CUDA_CHECK(cudaMemcpy(y.data(), d_y, size, cudaMemcpyDeviceToHost)); });
  print_times("copy out", out_ms, size, sequential_ms);
  CUDA_CHECK(cudaFree(d_x));
  CUDA_CHECK(cudaFree(d_y));
  CUDA_CHECK(cudaFree(d_initial));
  std::printf("\n");
  return right;
}

int main(int argc, char** argv) try {
  Size n = kit::kHasGpu ? 1 << 26 : 1 << 22;
  if (argc == 2) {
    char* end = nullptr;
    n = std::strtoll(argv[1], &end, 10);
    if (*end != 0) n = 0;
  }
  if (argc > 2 || n < 1) throw std::invalid_argument("usage: vector_add [n], n from 1 up");
  return run(n) ? 0 : 1;
} catch (const std::invalid_argument& bad) {  // an argument, or a size for which memory lacks
  std::fprintf(stderr, "vector_add: %s\n", bad.what());
  return 2;
} catch (const std::exception& error) {
  std::fprintf(stderr, "\nvector_add: %s\n", error.what());
  return 1;
}
