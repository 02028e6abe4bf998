// SPDX-License-Identifier: MIT
// Chapter 07 in one file: attention, O = softmax(Q K^T / sqrt(d)) V, for each of several heads. Q,
// K, V and O have n rows of d = 64 numbers in each head: queries, keys, values and results.
//
//   nvcc -O3 -I.. -Xcompiler -fopenmp flash_attention.cu -o flash_attention
//   ./flash_attention [n heads]
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
constexpr int kD = 64;
constexpr float kScale = 0.125f;  // 1 / sqrt(kD)
static_assert(kScale * kScale * kD == 1, "the scale belongs to d");

// ---------------------------------------------------------------- on the CPU
// One query: its scores with all keys, their softmax, and the mean of all values by these weights.
void one_query(const float* q, const float* k, const float* v, float* o, Size n) {
  std::vector<float> weights(n);
  for (Size j = 0; j < n; ++j) {
    for (int c = 0; c < kD; ++c) weights[j] += q[c] * k[j * kD + c];
    weights[j] *= kScale;
  }
  const float largest = *std::max_element(weights.begin(), weights.end());
  float sum = 0;
  for (float& weight : weights) sum += weight = std::exp(weight - largest);  // at most 1 each
  for (int c = 0; c < kD; ++c) o[c] = 0;
  for (Size j = 0; j < n; ++j) {
    for (int c = 0; c < kD; ++c) o[c] += weights[j] / sum * v[j * kD + c];
  }
}

void sequential(const float* q, const float* k, const float* v, float* o, Size n, Size heads) {
  for (Size row = 0; row < heads * n; ++row) {
    const Size head = row / n * n * kD;  // where the keys and values of its head begin
    one_query(q + row * kD, k + head, v + head, o + row * kD, n);
  }
}

void openmp(const float* q, const float* k, const float* v, float* o, Size n, Size heads) {
#pragma omp parallel for schedule(static)
  for (Size row = 0; row < heads * n; ++row) {
    const Size head = row / n * n * kD;
    one_query(q + row * kD, k + head, v + head, o + row * kD, n);
  }
}

// ---------------------------------------------------------------- on the GPU
// A thread for each query. Its block brings kKeys keys or values at a time into shared memory,
// where all its queries use them. (Loops over registers are unrolled: a register has no index.)
constexpr int kQueries = 64, kKeys = 16;

// Where a thread works: the rows of its head begin at `head`, its query is row `row` of these.
struct Place {
  Size head, row;
  __device__ explicit Place(Size n) {
    const auto blocks = static_cast<unsigned>((n + kQueries - 1) / kQueries);  // of a head
    head = blockIdx.x / blocks * n;
    row = Size{blockIdx.x % blocks} * kQueries + threadIdx.x;
  }
};

__device__ void load_query(float (&query)[kD], const float* q, Place at, Size n) {
#pragma unroll
  for (int c = 0; c < kD; ++c) query[c] = at.row < n ? kScale * q[(at.head + at.row) * kD + c] : 0;
}

// Rows from `first` on; past the last one there are zeros.
__device__ void load_tile(float (&tile)[kKeys][kD], const float* from, Place at, Size first,
                          Size n) {
  for (int i = threadIdx.x; i < kKeys * kD; i += kQueries) {
    tile[i / kD][i % kD] = first + i / kD < n ? from[(at.head + first) * kD + i] : 0;
  }
  __syncthreads();  // the tile is complete
}

// The scores of a query with a tile of keys, and with all so far the largest one.
__device__ void multiply(float (&score)[kKeys], float& largest, const float (&query)[kD],
                         const float (&keys)[kKeys][kD], Size keys_left) {
#pragma unroll
  for (int j = 0; j < kKeys; ++j) score[j] = 0;
#pragma unroll
  for (int c = 0; c < kD; ++c) {
#pragma unroll
    for (int j = 0; j < kKeys; ++j) score[j] += query[c] * keys[j][c];
  }
#pragma unroll
  for (int j = 0; j < kKeys; ++j) {
    if (j >= keys_left) score[j] = -INFINITY;  // no key: its weight will be exp(-infinity) = 0
    largest = fmaxf(largest, score[j]);
  }
}

// Adds a tile of values to the result, each with its weight, and the weights to their sum.
__device__ void add_values(float (&result)[kD], float& sum, const float (&score)[kKeys],
                           float largest, const float (&values)[kKeys][kD]) {
#pragma unroll
  for (int j = 0; j < kKeys; ++j) {
    const float weight = expf(score[j] - largest);
    sum += weight;
#pragma unroll
    for (int c = 0; c < kD; ++c) result[c] += weight * values[j][c];
  }
}

__device__ void store(float* o, const float (&result)[kD], float sum, Place at, Size n) {
  if (at.row >= n) return;  // a thread without a query has helped to load
#pragma unroll
  for (int c = 0; c < kD; ++c) o[(at.head + at.row) * kD + c] = result[c] / sum;
}

// Through the matrix. exp(score - largest) needs the largest score of all, so a first pass over the
// keys writes the scores to memory, n x n of them in each head, and a second one reads them again.
__global__ void matrix(const float* q, const float* k, const float* v, float* o, float* scores,
                       Size n) {
  __shared__ float tile[kKeys][kD];
  const Place at(n);
  float query[kD], score[kKeys], largest = -INFINITY;
  load_query(query, q, at, n);
  const auto kept = [&](Size key) -> float& { return scores[(at.head + key) * n + at.row]; };
  for (Size first = 0; first < n; first += kKeys) {
    load_tile(tile, k, at, first, n);
    multiply(score, largest, query, tile, n - first);
#pragma unroll
    for (int j = 0; j < kKeys; ++j) {
      if (at.row < n && first + j < n) kept(first + j) = score[j];
    }
    __syncthreads();  // nobody needs the tile any more
  }

  float result[kD] = {}, sum = 0;
  for (Size first = 0; first < n; first += kKeys) {
    load_tile(tile, v, at, first, n);
#pragma unroll
    for (int j = 0; j < kKeys; ++j) {
      score[j] = at.row < n && first + j < n ? kept(first + j) : -INFINITY;
    }
    add_values(result, sum, score, largest, tile);
    __syncthreads();
  }
  store(o, result, sum, at, n);
}

// One pass, no matrix: the online softmax. Weights are taken with the largest score so far. When a
// larger one comes, all that was added with exp(score - old) is off by the same factor,
// exp(old - new), and is multiplied by it.
__global__ void flash(const float* q, const float* k, const float* v, float* o, Size n) {
  __shared__ float keys[kKeys][kD], values[kKeys][kD];
  const Place at(n);
  float query[kD], score[kKeys], largest = -INFINITY, result[kD] = {}, sum = 0;
  load_query(query, q, at, n);
  for (Size first = 0; first < n; first += kKeys) {
    load_tile(keys, k, at, first, n);
    load_tile(values, v, at, first, n);
    const float old = largest;
    multiply(score, largest, query, keys, n - first);
    const float correction = expf(old - largest);  // at first exp(-infinity), which is 0
    sum *= correction;
#pragma unroll
    for (int c = 0; c < kD; ++c) result[c] *= correction;
    add_values(result, sum, score, largest, values);
    __syncthreads();  // nobody needs the tiles any more
  }
  store(o, result, sum, at, n);
}

// ---------------------------------------------------------------- check and print
// A row of the table begins. A dash stands for NaN: a kernel where there is no GPU to time it.
void print_times(const char* name, double ms, double operations, double sequential_ms) {
  std::printf("\n%-12s", name);
  for (const double value : {ms, operations / ms / 1e6, sequential_ms / ms}) {
    std::isnan(value) ? std::printf("%11s", "-") : std::printf("%11.3f", value);
  }
}

// A score is off by at most 2 d roundings of 2^-24, and the relative error of its weight is as
// large. A sum of n weights is off by about 2 sqrt(n) roundings more. The result is a mean of
// numbers below 1, a quotient of two such sums, and two results may be off in opposite directions.
bool print_verdict(const std::vector<float>& o, const std::vector<float>& expected, Size n) {
  const double bound = 4 * std::ldexp(1, -24) * (2 * kD + 2 * std::sqrt(n));
  double largest = 0;
  std::size_t wrong = o.size();  // the first one
  for (std::size_t i = 0; i < o.size(); ++i) {
    const double error = std::fabs(double{o[i]} - expected[i]);
    largest = std::fmax(largest, error);
    if (!(error <= bound) && wrong == o.size()) wrong = i;  // NaN is not <= bound, so it is wrong
  }
  std::printf("%11.1e  %s", largest, wrong == o.size() ? "right" : "WRONG");
  if (wrong == o.size()) return true;
  std::printf("\n  first: o[%zu] = %g, expected %g", wrong, o[wrong], expected[wrong]);
  return false;
}

// ---------------------------------------------------------------- the protocol
bool run(Size n, Size heads) {
  const double bytes = 4.0 * heads * n * kD;  // of Q, and likewise of K, V, O
  kit::require_memory(5 * bytes, 4 * bytes);  // on the host expected, too
  const Size rows = heads * n;
  std::vector<float> q(rows * kD), k(rows * kD), v(rows * kD), o(rows * kD);
  std::mt19937 random(7);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (std::vector<float>* input : {&q, &k, &v}) {
    for (float& value : *input) value = uniform(random);
  }

  cudaDeviceProp device;
  CUDA_CHECK(cudaGetDeviceProperties(&device, 0));
  std::printf("O = softmax(Q K^T / sqrt(d)) V, n = %lld, heads = %lld, d = %d\n", n, heads, kD);
  std::printf("%d OpenMP threads; %s%s\n", kit::openmp_threads(), device.name,
              kit::kHasGpu ? "" : ": kernels are checked here, not timed");
  std::printf("%-12s%11s%11s%11s%11s", "variant", "ms", "GFLOP/s", "x seq", "error");
  const double operations = 4.0 * heads * n * n * kD;  // of the two products
  bool right = true;

  // On the CPU. NaN: an element that nobody writes is not right by chance.
  kit::CpuTimer cpu;
  const auto forget = [&] { std::fill(o.begin(), o.end(), NAN); };
  const double sequential_ms =
      cpu.median_ms(forget, [&] { sequential(q.data(), k.data(), v.data(), o.data(), n, heads); });
  const std::vector<float> expected = o;
  print_times("sequential", sequential_ms, operations, sequential_ms);
  std::printf("%11s  reference", "-");
  if (kit::openmp_threads() > 0) {
    const double ms =
        cpu.median_ms(forget, [&] { openmp(q.data(), k.data(), v.data(), o.data(), n, heads); });
    print_times("openmp", ms, operations, sequential_ms);
    right &= print_verdict(o, expected, n);
  } else {
    std::printf("\n%-12s  skipped: built without -Xcompiler -fopenmp", "openmp");
  }

  // To the GPU. d_: memory of the device.
  const std::size_t size = q.size() * sizeof(float);
  float *d_q, *d_k, *d_v, *d_o, *d_scores;
  for (float** array : {&d_q, &d_k, &d_v, &d_o}) CUDA_CHECK(cudaMalloc(array, size));
  kit::GpuTimer gpu;
  const double in_ms = gpu.median_ms([&] {
    CUDA_CHECK(cudaMemcpy(d_q, q.data(), size, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(d_k, k.data(), size, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(d_v, v.data(), size, cudaMemcpyHostToDevice));
  });
  print_times("copy in", in_ms, NAN, sequential_ms);

  const auto measure = [&](const char* name, auto launch) {
    // These bytes are NaN, too.
    const auto prepare = [&] { CUDA_CHECK(cudaMemset(d_o, 0xff, size)); };
    const double ms = gpu.median_ms(prepare, [&] {
      launch();
      CUDA_CHECK(cudaGetLastError());  // a launch returns nothing: this says whether it began
    });
    forget();
    CUDA_CHECK(cudaMemcpy(o.data(), d_o, size, cudaMemcpyDeviceToHost));
    print_times(name, ms, operations, sequential_ms);
    right &= print_verdict(o, expected, n);
  };
  const auto blocks = static_cast<unsigned>((n + kQueries - 1) / kQueries * heads);
  if (cudaMalloc(&d_scores, rows * n * sizeof(float)) == cudaSuccess) {
    measure("matrix", [&] { matrix<<<blocks, kQueries>>>(d_q, d_k, d_v, d_o, d_scores, n); });
    CUDA_CHECK(cudaFree(d_scores));
  } else {
    cudaGetLastError();  // so that the next check does not find this one
    std::printf("\n%-12s  skipped: no room for %.1f GB of scores", "matrix", 4e-9 * rows * n);
  }
  measure("flash", [&] { flash<<<blocks, kQueries>>>(d_q, d_k, d_v, d_o, n); });

  // And back.
  const double out_ms =
      gpu.median_ms([&] { CUDA_CHECK(cudaMemcpy(o.data(), d_o, size, cudaMemcpyDeviceToHost)); });
  print_times("copy out", out_ms, NAN, sequential_ms);
  for (float* array : {d_q, d_k, d_v, d_o}) CUDA_CHECK(cudaFree(array));
  std::printf("\n");
  return right;
}

int main(int argc, char** argv) try {
  Size size[2] = {kit::kHasGpu ? 2048 : 512, kit::kHasGpu ? 8 : 2};
  bool good = argc == 1 || argc == 3;
  for (int i = 1; good && i < argc; ++i) {
    char* end = nullptr;
    size[i - 1] = std::strtoll(argv[i], &end, 10);
    good = *end == 0 && size[i - 1] >= 1;
  }
  if (!good) throw std::invalid_argument("usage: flash_attention [n heads], each from 1 up");
  return run(size[0], size[1]) ? 0 : 1;
} catch (const std::invalid_argument& bad) {  // an argument, or a size for which memory lacks
  std::fprintf(stderr, "flash_attention: %s\n", bad.what());
  return 2;
} catch (const std::exception& error) {
  std::fprintf(stderr, "\nflash_attention: %s\n", error.what());
  return 1;
}
