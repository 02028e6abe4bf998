// SPDX-License-Identifier: MIT
// Chapter 03 in one file: the transpose of a matrix, out[c][r] = in[r][c].
//
//   nvcc -O3 -I.. -Xcompiler -fopenmp coalescing.cu -o coalescing && ./coalescing [rows cols]
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
void sequential(const float* in, float* out, Size rows, Size cols) {
  for (Size r = 0; r < rows; ++r) {
    for (Size c = 0; c < cols; ++c) out[c * rows + r] = in[r * cols + c];
  }
}

void openmp(const float* in, float* out, Size rows, Size cols) {
#pragma omp parallel for schedule(static)
  for (Size r = 0; r < rows; ++r) {
    for (Size c = 0; c < cols; ++c) out[c * rows + r] = in[r * cols + c];
  }
}

// ---------------------------------------------------------------- on the GPU
// A block takes a tile of 32 x 32 elements with 32 x 8 threads, so each thread has four of them.
// The lanes of a warp differ in x alone.
constexpr int kTile = 32, kStep = 8;

// Where this block's tile begins. Blocks are numbered along x, the only direction of a grid in
// which there may be more than 65,535 of them.
struct Tile {
  Size row, col;
  __device__ explicit Tile(Size cols) {
    const auto across = static_cast<unsigned>((cols + kTile - 1) / kTile);
    row = Size{blockIdx.x / across} * kTile;
    col = Size{blockIdx.x % across} * kTile;
  }
};

// The yardstick: no transpose, but it moves the same bytes, and always 32 neighbours together.
__global__ void copy(const float* in, float* out, Size rows, Size cols) {
  const Tile tile(cols);
  const Size col = tile.col + threadIdx.x;
  for (int y = threadIdx.y; y < kTile; y += kStep) {
    const Size row = tile.row + y;
    if (row < rows && col < cols) out[row * cols + col] = in[row * cols + col];
  }
}

// A warp reads 32 neighbours of a row, and writes them into a column: to 32 places far apart. Each
// store touches 32 sectors of 32 bytes where 4 would do.
__global__ void naive(const float* in, float* out, Size rows, Size cols) {
  const Tile tile(cols);
  const Size col = tile.col + threadIdx.x;
  for (int y = threadIdx.y; y < kTile; y += kStep) {
    const Size row = tile.row + y;
    if (row < rows && col < cols) out[col * rows + row] = in[row * cols + col];
  }
}

// The corner is turned in shared memory, so that a warp reads along rows of `in` and writes along
// rows of `out`. Shared memory has 32 banks, and word i lies in bank i % 32. In rows of 32 words a
// column lies in one bank, and the 32 lanes that read it wait for each other. With one word of
// padding in each row, a column lies in 32 different banks.
template <int kPadding>
__global__ void tiled(const float* in, float* out, Size rows, Size cols) {
  __shared__ float shared[kTile][kTile + kPadding];
  const Tile tile(cols);
  const int x = threadIdx.x;
  for (int y = threadIdx.y; y < kTile; y += kStep) {
    const Size row = tile.row + y, col = tile.col + x;
    if (row < rows && col < cols) shared[y][x] = in[row * cols + col];
  }
  __syncthreads();  // a thread goes on with elements that others have read
  for (int y = threadIdx.y; y < kTile; y += kStep) {
    const Size row = tile.row + x, col = tile.col + y;  // x and y have changed places
    if (row < rows && col < cols) out[col * rows + row] = shared[x][y];
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

// Elements move and nothing is computed: nothing but the same number is right.
bool print_verdict(const std::vector<float>& out, const std::vector<float>& expected) {
  constexpr double kBound = 0;
  double largest = 0;
  std::size_t wrong = out.size();  // the first one
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double error = std::fabs(double{out[i]} - expected[i]);
    largest = std::fmax(largest, error);
    if (!(error <= kBound) && wrong == out.size()) wrong = i;  // NaN is not <= kBound: wrong, too
  }
  std::printf("%11.1e  %s", largest, wrong == out.size() ? "right" : "WRONG");
  if (wrong == out.size()) return true;
  std::printf("\n  first: out[%zu] = %g, expected %g", wrong, out[wrong], expected[wrong]);
  return false;
}

// ---------------------------------------------------------------- the protocol
bool run(Size rows, Size cols) {
  const double bytes = 8.0 * rows * cols;         // each element is read once and written once
  kit::require_memory(1.5 * bytes, 1.0 * bytes);  // in, out, expected; on the GPU in and out
  const Size n = rows * cols;
  std::vector<float> in(n), out(n);
  std::mt19937 random(7);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (float& value : in) value = uniform(random);

  cudaDeviceProp device;
  CUDA_CHECK(cudaGetDeviceProperties(&device, 0));
  std::printf("out[c][r] = in[r][c], rows = %lld, cols = %lld\n", rows, cols);
  std::printf("%d OpenMP threads; %s%s\n", kit::openmp_threads(), device.name,
              kit::kHasGpu ? "" : ": kernels are checked here, not timed");
  std::printf("%-12s%11s%11s%11s%11s", "variant", "ms", "GB/s", "x seq", "error");
  bool right = true;

  // On the CPU. NaN: an element that nobody writes is not right by chance.
  kit::CpuTimer cpu;
  const auto forget = [&] { std::fill(out.begin(), out.end(), NAN); };
  const double sequential_ms =
      cpu.median_ms(forget, [&] { sequential(in.data(), out.data(), rows, cols); });
  const std::vector<float> expected = out;
  print_times("sequential", sequential_ms, bytes, sequential_ms);
  std::printf("%11s  reference", "-");
  if (kit::openmp_threads() > 0) {
    const double ms = cpu.median_ms(forget, [&] { openmp(in.data(), out.data(), rows, cols); });
    print_times("openmp", ms, bytes, sequential_ms);
    right &= print_verdict(out, expected);
  } else {
    std::printf("\n%-12s  skipped: built without -Xcompiler -fopenmp", "openmp");
  }

  // To the GPU. d_: memory of the device.
  const std::size_t size = n * sizeof(float);
  float *d_in, *d_out;
  CUDA_CHECK(cudaMalloc(&d_in, size));
  CUDA_CHECK(cudaMalloc(&d_out, size));
  kit::GpuTimer gpu;
  const double in_ms =
      gpu.median_ms([&] { CUDA_CHECK(cudaMemcpy(d_in, in.data(), size, cudaMemcpyHostToDevice)); });
  print_times("copy in", in_ms, size, sequential_ms);

  const Size tiles = ((rows + kTile - 1) / kTile) * ((cols + kTile - 1) / kTile);
  const auto measure = [&](const char* name, auto kernel, const std::vector<float>& wanted) {
    // These bytes are NaN, too.
    const auto prepare = [&] { CUDA_CHECK(cudaMemset(d_out, 0xff, size)); };
    const double ms = gpu.median_ms(prepare, [&] {
      kernel<<<static_cast<unsigned>(tiles), dim3(kTile, kStep)>>>(d_in, d_out, rows, cols);
      CUDA_CHECK(cudaGetLastError());  // a launch returns nothing: this says whether it began
    });
    forget();
    CUDA_CHECK(cudaMemcpy(out.data(), d_out, size, cudaMemcpyDeviceToHost));
    print_times(name, ms, bytes, sequential_ms);
    right &= print_verdict(out, wanted);
  };
  measure("copy", copy, in);
  measure("naive", naive, expected);
  measure("tiled", tiled<0>, expected);
  measure("padded", tiled<1>, expected);

  // And back.
  const double out_ms = gpu.median_ms(
      [&] { CUDA_CHECK(cudaMemcpy(out.data(), d_out, size, cudaMemcpyDeviceToHost)); });
  print_times("copy out", out_ms, size, sequential_ms);
  CUDA_CHECK(cudaFree(d_in));
  CUDA_CHECK(cudaFree(d_out));
  std::printf("\n");
  return right;
}

int main(int argc, char** argv) try {
  Size size[2] = {kit::kHasGpu ? 8192 : 2048, kit::kHasGpu ? 8192 : 2048};
  bool good = argc == 1 || argc == 3;
  for (int i = 1; good && i < argc; ++i) {
    char* end = nullptr;
    size[i - 1] = std::strtoll(argv[i], &end, 10);
    good = *end == 0 && size[i - 1] >= 1;
  }
  if (!good) throw std::invalid_argument("usage: coalescing [rows cols], each from 1 up");
  return run(size[0], size[1]) ? 0 : 1;
} catch (const std::invalid_argument& bad) {  // an argument, or a size for which memory lacks
  std::fprintf(stderr, "coalescing: %s\n", bad.what());
  return 2;
} catch (const std::exception& error) {
  std::fprintf(stderr, "\ncoalescing: %s\n", error.what());
  return 1;
}
