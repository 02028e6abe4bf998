// SPDX-License-Identifier: MIT
// Chapter 04 in one file: C = A B, where A is m x k, B is k x n and C is m x n, all row by row.
//
//   nvcc -O3 -I.. -Xcompiler -fopenmp matmul.cu -o matmul && ./matmul [m n k]
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
// Columns innermost: that loop runs along rows of B and C, in the order in which they are stored.
void row_of_c(const float* a, const float* b, float* c, Size n, Size k) {
  for (Size j = 0; j < n; ++j) c[j] = 0;
  for (Size p = 0; p < k; ++p) {
    for (Size j = 0; j < n; ++j) c[j] += a[p] * b[p * n + j];
  }
}

void sequential(const float* a, const float* b, float* c, Size m, Size n, Size k) {
  for (Size i = 0; i < m; ++i) row_of_c(a + i * k, b, c + i * n, n, k);
}

void openmp(const float* a, const float* b, float* c, Size m, Size n, Size k) {
#pragma omp parallel for schedule(static)
  for (Size i = 0; i < m; ++i) row_of_c(a + i * k, b, c + i * n, n, k);
}

// ---------------------------------------------------------------- on the GPU
// A block computes a tile of C, each of its threads one element. Blocks are numbered along x, the
// only direction of a grid in which there may be more than 65,535 of them.
constexpr int kTile = 32;

struct Tile {
  Size row, col;  // where it begins
  __device__ explicit Tile(Size n) {
    const auto across = static_cast<unsigned>((n + kTile - 1) / kTile);
    row = Size{blockIdx.x / across} * kTile;
    col = Size{blockIdx.x % across} * kTile;
  }
};

// The 32 lanes of a warp differ in threadIdx.x. Naive: they stand in 32 rows of C, and what they
// load of A and store to C lies far apart. Coalesced: they stand side by side in a row of C, and
// load neighbours of B. Either way each multiply-add needs two loads.
template <bool kCoalesced>
__global__ void one_each(const float* a, const float* b, float* c, Size m, Size n, Size k) {
  const Tile tile(n);
  const Size row = tile.row + (kCoalesced ? threadIdx.y : threadIdx.x);
  const Size col = tile.col + (kCoalesced ? threadIdx.x : threadIdx.y);
  if (row >= m || col >= n) return;
  float sum = 0;
  for (Size p = 0; p < k; ++p) sum += a[row * k + p] * b[p * n + col];
  c[row * n + col] = sum;
}

// The block brings a tile of A and one of B into shared memory, one element per thread, and uses
// each element 32 times. Only a 32nd of the loads goes to global memory.
__global__ void tiled(const float* a, const float* b, float* c, Size m, Size n, Size k) {
  __shared__ float tile_a[kTile][kTile], tile_b[kTile][kTile];
  const Tile tile(n);
  const int x = threadIdx.x, y = threadIdx.y;
  const Size row = tile.row + y, col = tile.col + x;
  float sum = 0;
  for (Size p = 0; p < k; p += kTile) {
    // Outside of the matrices there are zeros, which change no sum.
    tile_a[y][x] = row < m && p + x < k ? a[row * k + p + x] : 0;
    tile_b[y][x] = p + y < k && col < n ? b[(p + y) * n + col] : 0;
    __syncthreads();  // the tiles are complete
    for (int q = 0; q < kTile; ++q) sum += tile_a[y][q] * tile_b[q][x];
    __syncthreads();  // nobody needs them any more
  }
  if (row < m && col < n) c[row * n + col] = sum;
}

// ---------------------------------------------------------------- check and print
// A row of the table begins. A dash stands for NaN: a kernel where there is no GPU to time it.
void print_times(const char* name, double ms, double operations, double sequential_ms) {
  std::printf("\n%-12s", name);
  for (const double value : {ms, operations / ms / 1e6, sequential_ms / ms}) {
    std::isnan(value) ? std::printf("%11s", "-") : std::printf("%11.3f", value);
  }
}

// Each of k additions is rounded by at most 2^-24 of the sum so far. With random signs that sum
// stays near sqrt(k) / 3, and hardly ever passes 2 sqrt(k). Two results may be wrong in opposite
// directions.
bool print_verdict(const std::vector<float>& c, const std::vector<float>& expected, Size k) {
  const double bound = 2 * std::ldexp(1, -24) * k * 2 * std::sqrt(k);
  double largest = 0;
  std::size_t wrong = c.size();  // the first one
  for (std::size_t i = 0; i < c.size(); ++i) {
    const double error = std::fabs(double{c[i]} - expected[i]);
    largest = std::fmax(largest, error);
    if (!(error <= bound) && wrong == c.size()) wrong = i;  // NaN is not <= bound, so it is wrong
  }
  std::printf("%11.1e  %s", largest, wrong == c.size() ? "right" : "WRONG");
  if (wrong == c.size()) return true;
  std::printf("\n  first: c[%zu] = %g, expected %g", wrong, c[wrong], expected[wrong]);
  return false;
}

// ---------------------------------------------------------------- the protocol
bool run(Size m, Size n, Size k) {
  const double inputs = 4.0 * m * k + 4.0 * k * n, output = 4.0 * m * n;  // bytes
  kit::require_memory(inputs + 2 * output, inputs + output);  // on the host expected, too
  std::vector<float> a(m * k), b(k * n), c(m * n);
  std::mt19937 random(7);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (float& value : a) value = uniform(random);
  for (float& value : b) value = uniform(random);

  cudaDeviceProp device;
  CUDA_CHECK(cudaGetDeviceProperties(&device, 0));
  std::printf("C = A B, m = %lld, n = %lld, k = %lld\n", m, n, k);
  std::printf("%d OpenMP threads; %s%s\n", kit::openmp_threads(), device.name,
              kit::kHasGpu ? "" : ": kernels are checked here, not timed");
  std::printf("%-12s%11s%11s%11s%11s", "variant", "ms", "GFLOP/s", "x seq", "error");
  const double operations = 2.0 * m * n * k;
  bool right = true;

  // On the CPU. NaN: an element that nobody writes is not right by chance.
  kit::CpuTimer cpu;
  const auto forget = [&] { std::fill(c.begin(), c.end(), NAN); };
  const double sequential_ms =
      cpu.median_ms(forget, [&] { sequential(a.data(), b.data(), c.data(), m, n, k); });
  const std::vector<float> expected = c;
  print_times("sequential", sequential_ms, operations, sequential_ms);
  std::printf("%11s  reference", "-");
  if (kit::openmp_threads() > 0) {
    const double ms = cpu.median_ms(forget, [&] { openmp(a.data(), b.data(), c.data(), m, n, k); });
    print_times("openmp", ms, operations, sequential_ms);
    right &= print_verdict(c, expected, k);
  } else {
    std::printf("\n%-12s  skipped: built without -Xcompiler -fopenmp", "openmp");
  }

  // To the GPU. d_: memory of the device.
  const auto bytes = [](const std::vector<float>& v) { return v.size() * sizeof(float); };
  float *d_a, *d_b, *d_c;
  CUDA_CHECK(cudaMalloc(&d_a, bytes(a)));
  CUDA_CHECK(cudaMalloc(&d_b, bytes(b)));
  CUDA_CHECK(cudaMalloc(&d_c, bytes(c)));
  kit::GpuTimer gpu;
  const double in_ms = gpu.median_ms([&] {
    CUDA_CHECK(cudaMemcpy(d_a, a.data(), bytes(a), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(d_b, b.data(), bytes(b), cudaMemcpyHostToDevice));
  });
  print_times("copy in", in_ms, NAN, sequential_ms);

  const Size tiles = ((m + kTile - 1) / kTile) * ((n + kTile - 1) / kTile);
  const auto measure = [&](const char* name, auto kernel) {
    // These bytes are NaN, too.
    const auto prepare = [&] { CUDA_CHECK(cudaMemset(d_c, 0xff, bytes(c))); };
    const double ms = gpu.median_ms(prepare, [&] {
      kernel<<<static_cast<unsigned>(tiles), dim3(kTile, kTile)>>>(d_a, d_b, d_c, m, n, k);
      CUDA_CHECK(cudaGetLastError());  // a launch returns nothing: this says whether it began
    });
    forget();
    CUDA_CHECK(cudaMemcpy(c.data(), d_c, bytes(c), cudaMemcpyDeviceToHost));
    print_times(name, ms, operations, sequential_ms);
    right &= print_verdict(c, expected, k);
  };
  measure("naive", one_each<false>);
  measure("coalesced", one_each<true>);
  measure("tiled", tiled);

  // And back.
  const double out_ms = gpu.median_ms(
      [&] { CUDA_CHECK(cudaMemcpy(c.data(), d_c, bytes(c), cudaMemcpyDeviceToHost)); });
  print_times("copy out", out_ms, NAN, sequential_ms);
  CUDA_CHECK(cudaFree(d_a));
  CUDA_CHECK(cudaFree(d_b));
  CUDA_CHECK(cudaFree(d_c));
  std::printf("\n");
  return right;
}

int main(int argc, char** argv) try {
  const Size side = kit::kHasGpu ? 2048 : 512;
  Size size[3] = {side, side, side};
  bool good = argc == 1 || argc == 4;
  for (int i = 1; good && i < argc; ++i) {
    char* end = nullptr;
    size[i - 1] = std::strtoll(argv[i], &end, 10);
    good = *end == 0 && size[i - 1] >= 1;
  }
  if (!good) throw std::invalid_argument("usage: matmul [m n k], each from 1 up");
  return run(size[0], size[1], size[2]) ? 0 : 1;
} catch (const std::invalid_argument& bad) {  // an argument, or a size for which memory lacks
  std::fprintf(stderr, "matmul: %s\n", bad.what());
  return 2;
} catch (const std::exception& error) {
  std::fprintf(stderr, "\nmatmul: %s\n", error.what());
  return 1;
}
