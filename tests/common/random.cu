// common/kit/random.cuh: signed, spread out, the same on host and device.
#include "common/kit/random.cuh"

#include <cmath>
#include <set>
#include <vector>

#include "common/bench/device_facts.cuh"
#include "common/kit/check.cuh"
#include "common/kit/device_buffer.cuh"
#include "tests/catch.hpp"

__global__ void random_floats_kernel(float* out, int n, std::uint64_t seed) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = kit::random_float(seed, i);
}

TEST_CASE("values lie in [-1, 1), with mean 0 and variance 1/3") {
  constexpr int n = 1'000'000;
  std::vector<float> values(n);
  kit::fill_random(values.data(), n, 42);
  double sum = 0, squares = 0;
  bool inside = true;
  for (const float v : values) {
    inside = inside && v >= -1.0f && v < 1.0f;
    sum += v;
    squares += static_cast<double>(v) * v;
  }
  CHECK(inside);
  // Five standard errors of the mean, sqrt(1/3/n), and of the mean square, sqrt(4/45/n).
  CHECK(std::fabs(sum / n) < 5 * std::sqrt(1.0 / 3 / n));
  CHECK(std::fabs(squares / n - 1.0 / 3) < 5 * std::sqrt(4.0 / 45 / n));
}

TEST_CASE("one seed, one sequence; another seed, another sequence") {
  std::vector<float> a(1000), b(1000), c(1000);
  kit::fill_random(a.data(), 1000, 1);
  kit::fill_random(b.data(), 1000, 1);
  kit::fill_random(c.data(), 1000, 2);
  CHECK(a == b);
  CHECK(a != c);
}

TEST_CASE("neighbouring indices and seeds do not repeat") {
  std::set<std::uint64_t> seen;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    for (std::uint64_t i = 0; i < 100; ++i) seen.insert(kit::random_bits(seed, i));
  }
  CHECK(seen.size() == 10'000);
}

TEST_CASE("the device computes the same numbers") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  constexpr int n = 10'000;
  std::vector<float> on_host(n), from_device(n);
  kit::fill_random(on_host.data(), n, 3);
  const kit::DeviceBuffer<float> d(n);
  random_floats_kernel<<<(n + 255) / 256, 256>>>(d.data(), n, 3);
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaMemcpy(from_device.data(), d.data(), d.bytes(), cudaMemcpyDeviceToHost));
  CHECK(on_host == from_device);
}
