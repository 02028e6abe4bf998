// SPDX-License-Identifier: MIT
// Chapter 02 in one file: polar to Cartesian coordinates, z = (cos phi, sin phi) for n angles.
//
//   nvcc -O3 -I.. -Xcompiler -fopenmp warp_divergence.cu -o warp_divergence
//   ./warp_divergence [n]
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

// ---------------------------------------------------------------- on the CPU
void sequential(const float* phi, float* z, Size n) {
  for (Size i = 0; i < n; ++i) {
    z[2 * i] = std::cos(phi[i]);
    z[2 * i + 1] = std::sin(phi[i]);
  }
}

void openmp(const float* phi, float* z, Size n) {
#pragma omp parallel for schedule(static)
  for (Size i = 0; i < n; ++i) {
    z[2 * i] = std::cos(phi[i]);
    z[2 * i + 1] = std::sin(phi[i]);
  }
}

// ---------------------------------------------------------------- on the GPU
constexpr int kBlock = 256;  // threads of a block: 8 warps of 32

__device__ Size global_thread() { return Size{blockIdx.x} * kBlock + threadIdx.x; }

// A thread for each number: even threads take the cosines, odd ones the sines. A warp has both, and
// one stream of instructions for its 32 lanes: it runs the cosine while the odd lanes wait, then
// the sine while the even ones wait.
__global__ void divergent(const float* phi, float* z, Size n) {
  const Size i = global_thread();
  if (i >= 2 * n) return;
  if (i % 2 == 0) {
    z[i] = cosf(phi[i / 2]);
  } else {
    z[i] = sinf(phi[i / 2]);
  }
}

// A thread for each angle: all lanes take the cosine, then all take the sine. Nobody waits, but the
// two stores of a warp each leave out every second number.
__global__ void uniform(const float* phi, float* z, Size n) {
  const Size i = global_thread();
  if (i >= n) return;
  z[2 * i] = cosf(phi[i]);
  z[2 * i + 1] = sinf(phi[i]);
}

// One store of 8 bytes in place of two of 4, and one function that finds both: what sine and cosine
// have in common is computed once.
__global__ void vector_store(const float* phi, float* z, Size n) {
  const Size i = global_thread();
  if (i >= n) return;
  float2 point;
  sincosf(phi[i], &point.y, &point.x);
  reinterpret_cast<float2*>(z)[i] = point;
}

// ---------------------------------------------------------------- check and print
// A row of the table begins. A dash stands for NaN: a kernel where there is no GPU to time it.
void print_times(const char* name, double ms, double bytes, double sequential_ms) {
  std::printf("\n%-12s", name);
  for (const double value : {ms, bytes / ms / 1e6, sequential_ms / ms}) {
    std::isnan(value) ? std::printf("%11s", "-") : std::printf("%11.3f", value);
  }
}

// CUDA promises cosf and sinf to within 2 units in the last place, C libraries do better. For
// numbers up to 1 such a unit is at most 2^-24.
bool print_verdict(const std::vector<float>& z, const std::vector<double>& expected) {
  const double bound = std::ldexp(2, -24);
  double largest = 0;
  std::size_t wrong = z.size();  // the first one
  for (std::size_t i = 0; i < z.size(); ++i) {
    const double error = std::fabs(z[i] - expected[i]);
    largest = std::fmax(largest, error);
    if (!(error <= bound) && wrong == z.size()) wrong = i;  // NaN is not <= bound, so it is wrong
  }
  std::printf("%11.1e  %s", largest, wrong == z.size() ? "right" : "WRONG");
  if (wrong == z.size()) return true;
  std::printf("\n  first: z[%zu] = %g, expected %g", wrong, z[wrong], expected[wrong]);
  return false;
}

// ---------------------------------------------------------------- the protocol
bool run(Size n) {
  kit::require_memory(28.0 * n, 12.0 * n);  // phi, z, expected as doubles; on the GPU phi and z
  std::vector<float> phi(n), z(2 * n);
  std::mt19937 random(7);
  std::uniform_real_distribution<float> angle(-3.14159265f, 3.14159265f);
  for (float& value : phi) value = angle(random);
  std::vector<double> expected(2 * n);
  for (Size i = 0; i < n; ++i) {
    expected[2 * i] = std::cos(double{phi[i]});
    expected[2 * i + 1] = std::sin(double{phi[i]});
  }

  cudaDeviceProp device;
  CUDA_CHECK(cudaGetDeviceProperties(&device, 0));
  std::printf("z = (cos phi, sin phi), n = %lld\n", n);
  std::printf("%d OpenMP threads; %s%s\n", kit::openmp_threads(), device.name,
              kit::kHasGpu ? "" : ": kernels are checked here, not timed");
  std::printf("%-12s%11s%11s%11s%11s", "variant", "ms", "GB/s", "x seq", "error");
  const double bytes = 12.0 * n;  // phi is read, z is written
  bool right = true;

  // On the CPU. NaN: an element that nobody writes is not right by chance.
  kit::CpuTimer cpu;
  const auto forget = [&] { std::fill(z.begin(), z.end(), NAN); };
  const double sequential_ms = cpu.median_ms(forget, [&] { sequential(phi.data(), z.data(), n); });
  print_times("sequential", sequential_ms, bytes, sequential_ms);
  right &= print_verdict(z, expected);
  if (kit::openmp_threads() > 0) {
    const double ms = cpu.median_ms(forget, [&] { openmp(phi.data(), z.data(), n); });
    print_times("openmp", ms, bytes, sequential_ms);
    right &= print_verdict(z, expected);
  } else {
    std::printf("\n%-12s  skipped: built without -Xcompiler -fopenmp", "openmp");
  }

  // To the GPU. d_: memory of the device.
  const std::size_t phi_size = n * sizeof(float), z_size = 2 * phi_size;
  float *d_phi, *d_z;
  CUDA_CHECK(cudaMalloc(&d_phi, phi_size));
  CUDA_CHECK(cudaMalloc(&d_z, z_size));
  kit::GpuTimer gpu;
  const double in_ms = gpu.median_ms(
      [&] { CUDA_CHECK(cudaMemcpy(d_phi, phi.data(), phi_size, cudaMemcpyHostToDevice)); });
  print_times("copy in", in_ms, phi_size, sequential_ms);

  const auto measure = [&](const char* name, Size threads, auto kernel) {
    const auto blocks = static_cast<unsigned>((threads + kBlock - 1) / kBlock);
    // These bytes are NaN, too.
    const auto prepare = [&] { CUDA_CHECK(cudaMemset(d_z, 0xff, z_size)); };
    const double ms = gpu.median_ms(prepare, [&] {
      kernel<<<blocks, kBlock>>>(d_phi, d_z, n);
      CUDA_CHECK(cudaGetLastError());  // a launch returns nothing: this says whether it began
    });
    forget();
    CUDA_CHECK(cudaMemcpy(z.data(), d_z, z_size, cudaMemcpyDeviceToHost));
    print_times(name, ms, bytes, sequential_ms);
    right &= print_verdict(z, expected);
  };
  measure("divergent", 2 * n, divergent);
  measure("uniform", n, uniform);
  measure("vector_store", n, vector_store);

  // And back.
  const double out_ms =
      gpu.median_ms([&] { CUDA_CHECK(cudaMemcpy(z.data(), d_z, z_size, cudaMemcpyDeviceToHost)); });
  print_times("copy out", out_ms, z_size, sequential_ms);
  CUDA_CHECK(cudaFree(d_phi));
  CUDA_CHECK(cudaFree(d_z));
  std::printf("\n");
  return right;
}

int main(int argc, char** argv) try {
  Size n = kit::kHasGpu ? 1 << 24 : 1 << 20;
  if (argc == 2) {
    char* end = nullptr;
    n = std::strtoll(argv[1], &end, 10);
    if (*end != 0) n = 0;
  }
  if (argc > 2 || n < 1) throw std::invalid_argument("usage: warp_divergence [n], n from 1 up");
  return run(n) ? 0 : 1;
} catch (const std::invalid_argument& bad) {  // an argument, or a size for which memory lacks
  std::fprintf(stderr, "warp_divergence: %s\n", bad.what());
  return 2;
} catch (const std::exception& error) {
  std::fprintf(stderr, "\nwarp_divergence: %s\n", error.what());
  return 1;
}
