// SPDX-License-Identifier: MIT
// Chapter 07 in one file: attention, O = softmax(Q K^T / sqrt(d)) V, for one head. Q, K, V and O
// have n rows of d = 64 numbers: queries, keys, values and results.
//
//   nvcc -O3 -I.. -Xcompiler -fopenmp flash_attention.cu -o flash_attention
//   ./flash_attention [n]
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

void sequential(const float* q, const float* k, const float* v, float* o, Size n) {
  for (Size i = 0; i < n; ++i) one_query(q + i * kD, k, v, o + i * kD, n);
}

void openmp(const float* q, const float* k, const float* v, float* o, Size n) {
#pragma omp parallel for schedule(static)
  for (Size i = 0; i < n; ++i) one_query(q + i * kD, k, v, o + i * kD, n);
}

// ---------------------------------------------------------------- on the GPU
// A warp for each query. Its block brings 32 keys or values at a time into shared memory, where all
// its queries use them. A lane has the score of one of these keys, and two columns of the result.
constexpr int kWarp = 32, kQueries = 16;
using Tile = float[kWarp][kD + 1];  // one float more: lanes read a column from different banks

// The block loads rows of which `left` are there; zeros stand for the others.
__device__ void load_tile(Tile& tile, const float* rows, Size left) {
  for (int i = threadIdx.y * kWarp + threadIdx.x; i < kWarp * kD; i += kQueries * kWarp) {
    tile[i / kD][i % kD] = i / kD < left ? rows[i] : 0;
  }
}

// Each lane multiplies the query of its warp by a key of its own.
__device__ float score_of(const float* query, const Tile& keys) {
  float sum = 0;
  for (int c = 0; c < kD; ++c) sum += query[c] * keys[threadIdx.x][c];
  return kScale * sum;
}

// Adds 32 values to the result, each with its weight, which one of the lanes has.
__device__ void add_values(float (&result)[2], float weight, const Tile& values) {
  for (int j = 0; j < kWarp; ++j) {
    const float of_j = __shfl_sync(~0u, weight, j);
    for (int i = 0; i < 2; ++i) result[i] += of_j * values[j][threadIdx.x + i * kWarp];
  }
}

__device__ float warp_max(float x) {
  for (int half = kWarp / 2; half > 0; half /= 2) x = fmaxf(x, __shfl_xor_sync(~0u, x, half));
  return x;
}

// `sum`: of the weights that this lane has had.
__device__ void store(float* row, const float (&result)[2], float sum) {
  for (int half = kWarp / 2; half > 0; half /= 2) sum += __shfl_xor_sync(~0u, sum, half);
  for (int i = 0; i < 2; ++i) row[threadIdx.x + i * kWarp] = result[i] / sum;
}

// Through the matrix. exp(score - largest) needs the largest score of all, so a first pass over the
// keys writes the scores to memory, n x n of them, and a second one reads them again.
__global__ void matrix(const float* q, const float* k, const float* v, float* o, float* scores,
                       Size n) {
  __shared__ float query[kQueries][kD];
  __shared__ Tile tile;
  const int lane = threadIdx.x, warp = threadIdx.y;
  const Size row = Size{blockIdx.x} * kQueries + warp;
  for (int c = lane; c < kD; c += kWarp) query[warp][c] = row < n ? q[row * kD + c] : 0;

  float largest = -INFINITY, sum = 0, result[2] = {};
  for (Size first = 0; first < n; first += kWarp) {
    load_tile(tile, k + first * kD, n - first);
    __syncthreads();  // the tile is complete
    const bool is_key = first + lane < n;
    const float score = is_key ? score_of(query[warp], tile) : -INFINITY;
    if (is_key && row < n) scores[row * n + first + lane] = score;
    largest = fmaxf(largest, score);
    __syncthreads();  // nobody needs it any more
  }
  largest = warp_max(largest);
  for (Size first = 0; first < n; first += kWarp) {
    load_tile(tile, v + first * kD, n - first);
    __syncthreads();
    const bool is_score = first + lane < n && row < n;
    const float weight = is_score ? expf(scores[row * n + first + lane] - largest) : 0;
    sum += weight;
    add_values(result, weight, tile);
    __syncthreads();
  }
  if (row < n) store(o + row * kD, result, sum);
}

// One pass, no matrix: the online softmax. Weights are taken with the largest score so far. When a
// larger one comes, all that was added with exp(score - old) is off by the same factor,
// exp(old - new), and is multiplied by it.
__global__ void flash(const float* q, const float* k, const float* v, float* o, Size n) {
  __shared__ float query[kQueries][kD];
  __shared__ Tile keys, values;
  const int lane = threadIdx.x, warp = threadIdx.y;
  const Size row = Size{blockIdx.x} * kQueries + warp;
  for (int c = lane; c < kD; c += kWarp) query[warp][c] = row < n ? q[row * kD + c] : 0;

  float largest = -INFINITY, sum = 0, result[2] = {};
  for (Size first = 0; first < n; first += kWarp) {
    load_tile(keys, k + first * kD, n - first);
    load_tile(values, v + first * kD, n - first);
    __syncthreads();
    const float score = first + lane < n ? score_of(query[warp], keys) : -INFINITY;  // weight 0
    const float old = largest;
    largest = fmaxf(old, warp_max(score));
    const float correction = expf(old - largest);  // at first exp(-infinity), which is 0
    for (float& column : result) column *= correction;
    sum *= correction;
    const float weight = expf(score - largest);
    sum += weight;
    add_values(result, weight, values);
    __syncthreads();
  }
  if (row < n) store(o + row * kD, result, sum);
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
bool run(Size n) {
  const double bytes = 4.0 * n * kD;          // of Q, and likewise of K, V, O
  kit::require_memory(5 * bytes, 4 * bytes);  // on the host expected, too
  std::vector<float> q(n * kD), k(n * kD), v(n * kD), o(n * kD);
  std::mt19937 random(7);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (std::vector<float>* input : {&q, &k, &v}) {
    for (float& value : *input) value = uniform(random);
  }

  cudaDeviceProp device;
  CUDA_CHECK(cudaGetDeviceProperties(&device, 0));
  std::printf("O = softmax(Q K^T / sqrt(d)) V, n = %lld, d = %d\n", n, kD);
  std::printf("%d OpenMP threads; %s%s\n", kit::openmp_threads(), device.name,
              kit::kHasGpu ? "" : ": kernels are checked here, not timed");
  std::printf("%-12s%11s%11s%11s%11s", "variant", "ms", "GFLOP/s", "x seq", "error");
  const double operations = 4.0 * n * n * kD;  // of the two products
  bool right = true;

  // On the CPU. NaN: an element that nobody writes is not right by chance.
  kit::CpuTimer cpu;
  const auto forget = [&] { std::fill(o.begin(), o.end(), NAN); };
  const double sequential_ms =
      cpu.median_ms(forget, [&] { sequential(q.data(), k.data(), v.data(), o.data(), n); });
  const std::vector<float> expected = o;
  print_times("sequential", sequential_ms, operations, sequential_ms);
  std::printf("%11s  reference", "-");
  if (kit::openmp_threads() > 0) {
    const double ms =
        cpu.median_ms(forget, [&] { openmp(q.data(), k.data(), v.data(), o.data(), n); });
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
  const auto blocks = static_cast<unsigned>((n + kQueries - 1) / kQueries);
  const dim3 block(kWarp, kQueries);
  if (cudaMalloc(&d_scores, n * n * sizeof(float)) == cudaSuccess) {
    measure("matrix", [&] { matrix<<<blocks, block>>>(d_q, d_k, d_v, d_o, d_scores, n); });
    CUDA_CHECK(cudaFree(d_scores));
  } else {
    cudaGetLastError();  // so that the next check does not find this one
    std::printf("\n%-12s  skipped: no room for %.1f GB of scores", "matrix", 4e-9 * n * n);
  }
  measure("flash", [&] { flash<<<blocks, block>>>(d_q, d_k, d_v, d_o, n); });

  // And back.
  const double out_ms =
      gpu.median_ms([&] { CUDA_CHECK(cudaMemcpy(o.data(), d_o, size, cudaMemcpyDeviceToHost)); });
  print_times("copy out", out_ms, NAN, sequential_ms);
  for (float* array : {d_q, d_k, d_v, d_o}) CUDA_CHECK(cudaFree(array));
  std::printf("\n");
  return right;
}

int main(int argc, char** argv) try {
  Size n = kit::kHasGpu ? 8192 : 512;
  if (argc == 2) {
    char* end = nullptr;
    n = std::strtoll(argv[1], &end, 10);
    if (*end != 0) n = 0;
  }
  if (argc > 2 || n < 1) throw std::invalid_argument("usage: flash_attention [n], n from 1 up");
  return run(n) ? 0 : 1;
} catch (const std::invalid_argument& bad) {  // an argument, or a size for which memory lacks
  std::fprintf(stderr, "flash_attention: %s\n", bad.what());
  return 2;
} catch (const std::exception& error) {
  std::fprintf(stderr, "\nflash_attention: %s\n", error.what());
  return 1;
}
