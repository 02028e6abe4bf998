// --sweep type: the same addition of arrays that hold fp32, fp16, or 8-bit integers with a scale.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "01_vector_add/problem.cuh"
#include "common/bench/compare.hpp"
#include "common/bench/guarded_array.cuh"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/report.hpp"
#include "common/bench/settings.hpp"
#include "common/bench/variant.cuh"
#include "common/kit/check.cuh"
#include "common/kit/random.cuh"

namespace vector_add {

// What is stored for a number, and the number that it stands for. Arithmetic is in fp32.
constexpr float kStep = 1.0f / 64;  // the scale of the 8-bit integers: they reach from -2 to 1.98
__host__ __device__ inline float value_of(float stored) { return stored; }
__host__ __device__ inline float value_of(__half stored) { return __half2float(stored); }
__host__ __device__ inline float value_of(std::int8_t stored) { return stored * kStep; }
__host__ __device__ inline void store(float value, float& to) { to = value; }
__host__ __device__ inline void store(float value, __half& to) { to = __float2half(value); }
__host__ __device__ inline void store(float value, std::int8_t& to) {
  to = static_cast<std::int8_t>(fminf(fmaxf(rintf(value / kStep), -128.0f), 127.0f));
}

// y = x + y, 16 bytes per thread, whatever they hold.
template <class T>
__global__ void add_stored_kernel(const uint4* x, uint4* y, std::int64_t vectors) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= vectors) return;
  const uint4 a = x[i];
  uint4 b = y[i];
  const T* from_x = reinterpret_cast<const T*>(&a);
  T* from_y = reinterpret_cast<T*>(&b);
#pragma unroll
  for (int e = 0; e < static_cast<int>(sizeof(uint4) / sizeof(T)); ++e) {
    store(value_of(from_x[e]) + value_of(from_y[e]), from_y[e]);
  }
  y[i] = b;
}

// y = x + y for n elements of type T; n is a multiple of 16.
template <class T>
struct StoredAdd {
  static constexpr const char* name = "stored_add";

  std::int64_t n;
  bench::GuardedArray<T> x, y;
  std::vector<float> expected;

  StoredAdd(std::int64_t n, std::uint64_t seed)
      : n(n), x("x", bench::Role::input, n), y("y", bench::Role::in_out, n), expected(n) {
    std::vector<float> numbers(2 * n);
    kit::fill_random(numbers.data(), 2 * n, seed);
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < n; ++i) {
      store(numbers[i], x.pristine()[i]);
      store(numbers[n + i], y.pristine()[i]);
      T sum;
      store(value_of(x.pristine()[i]) + value_of(y.pristine()[i]), sum);
      expected[i] = value_of(sum);
    }
  }

  template <class Visit>
  void each_array(Visit visit) {
    visit(x);
    visit(y);
  }
  bench::Comparison check() const {
    std::vector<float> values(n);
    for (std::int64_t i = 0; i < n; ++i) values[i] = value_of(y.fetched()[i]);
    return bench::compare(values.data(), expected.data(), n, 0.0);
  }
  bench::Sizes sizes() const { return {{"n", n}}; }
  double bytes() const { return 3.0 * sizeof(T) * static_cast<double>(n); }
  double flops() const { return static_cast<double>(n); }
};

template <class T>
std::vector<double> point_of_type(const bench::RunSettings& run, std::int64_t n) {
  StoredAdd<T> problem(n, run.seed);
  const auto variant = bench::device_variant<StoredAdd<T>>(
      "add_stored", "", [](StoredAdd<T>& p, cudaStream_t stream) {
        const std::int64_t vectors = p.n * static_cast<std::int64_t>(sizeof(T)) / 16;
        add_stored_kernel<T><<<(vectors + 255) / 256, 256, 0, stream>>>(
            reinterpret_cast<const uint4*>(p.x.device_data()),
            reinterpret_cast<uint4*>(p.y.device_data()), vectors);
        CUDA_CHECK(cudaGetLastError());
      });
  const double ms = bench::time_sweep<StoredAdd<T>>(run, problem, {variant}).front();
  return {8.0 * sizeof(T), ms, problem.bytes() / (1e6 * ms), n / (1e6 * ms)};
}

inline bench::Shown sweep_type(const bench::RunSettings& run, const bench::Settings& settings,
                               const std::vector<bench::Variant<VectorAdd>>&) {
  const std::int64_t n = settings["n"];
  if (n % 16 != 0) throw bench::UsageError("--sweep type: --n must be a multiple of 16");
  bench::Sweep sweep{VectorAdd::name, "type", {"bits", "median_ms", "gbps", "elements_per_ns"}, {}};
  sweep.points = {point_of_type<float>(run, n), point_of_type<__half>(run, n),
                  point_of_type<std::int8_t>(run, n)};
  return {sweep};
}

}  // namespace vector_add
