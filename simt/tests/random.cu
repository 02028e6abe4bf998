// cuRAND: known numbers, skipping ahead, distributions, the host API.
#include <curand.h>
#include <curand_kernel.h>

#include <cmath>
#include <vector>

#include "simt/tests/device_array.hpp"
#include "tests/catch.hpp"

// Philox4x32-10 of counter 0 and key 0, from the paper that defines it (Salmon and others, 2011).
TEST_CASE("Philox gives the published numbers") {
  curandStatePhilox4_32_10_t state;
  curand_init(0, 0, 0, &state);
  const uint4 first = curand4(&state);
  CHECK(first.x == 0x6627e8d5u);
  CHECK(first.y == 0xe169c58du);
  CHECK(first.z == 0xbc57ac4cu);
  CHECK(first.w == 0x9b00dbd8u);
}

// The same program on an H200 with CUDA 13.
TEST_CASE("both generators give the numbers of a GPU") {
  curandStateXORWOW_t x;
  curand_init(1234ull, 5, 7, &x);
  CHECK(curand(&x) == 0xc7c04273u);
  CHECK(curand(&x) == 0xd8577152u);
  curand_init(99ull << 33, 1ull << 40, 123456789ull, &x);
  for (unsigned expected : {0x412b148au, 0xff531cadu, 0x2eaab7e4u, 0xf905420eu})
    CHECK(curand(&x) == expected);
  for (float expected : {-0.2883869f, -0.1150414f, 0.5486126f})
    CHECK(std::fabs(curand_normal(&x) - expected) < 1e-6f);
  CHECK(std::fabs(curand_uniform(&x) - 0.8116021f) < 1e-6f);
  CHECK(std::fabs(curand_uniform_double(&x) - 0.1656954) < 1e-6);
  curandStatePhilox4_32_10_t p;
  curand_init(1234ull, 5, 7, &p);
  for (unsigned expected : {0x72c26332u, 0x26a9bd1bu, 0xd88ecb0du, 0x088f2111u})
    CHECK(curand(&p) == expected);
  CHECK(curand4(&p).x == 0xd1e85602u);
  for (float expected : {-0.04600885f, 1.359262f, 0.7477182f})
    CHECK(std::fabs(curand_normal(&p) - expected) < 1e-6f);
  const float4 normals = curand_normal4(&p);
  CHECK(std::fabs(normals.x - 1.352493f) < 1e-6f);
  CHECK(std::fabs(normals.w + 0.7051871f) < 1e-6f);
  CHECK(std::fabs(curand_uniform_double(&p) - 0.7955003) < 1e-6);
  CHECK(std::fabs(curand_normal_double(&x) - 0.6251311) < 1e-6);
  CHECK(std::fabs(curand_normal_double(&p) + 0.22256) < 1e-5);
}

template <class State>
static void check_offsets() {
  State from_start, from_offset;
  curand_init(1234, 3, 0, &from_start);
  for (int i = 0; i < 1001; ++i) curand(&from_start);
  curand_init(1234, 3, 1001, &from_offset);
  for (int i = 0; i < 10; ++i) REQUIRE(curand(&from_start) == curand(&from_offset));
  State other;
  curand_init(1234, 4, 1011, &other);
  CHECK(curand(&other) != curand(&from_start));
}

TEST_CASE("an offset skips numbers") {
  check_offsets<curandStateXORWOW_t>();
  check_offsets<curandStatePhilox4_32_10_t>();
}

template <class State>
__global__ void draw(float* uniform, float* normal, int each) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  State state;
  curand_init(42, t, 0, &state);
  for (int i = 0; i < each; ++i) uniform[t * each + i] = curand_uniform(&state);
  for (int i = 0; i < each; ++i) normal[t * each + i] = curand_normal(&state);
}

template <class State>
static void check_moments() {
  const int threads = 512, each = 40, n = threads * each;
  DeviceArray<float> uniform(n), normal(n);
  draw<State><<<4, threads / 4>>>(uniform.get(), normal.get(), each);
  double mean_u = 0, mean = 0, variance = 0;
  for (float u : uniform.values()) {
    REQUIRE(u > 0);
    REQUIRE(u <= 1);
    mean_u += u / n;
  }
  for (float x : normal.values()) {
    mean += x / n;
    variance += double(x) * x / n;
  }
  CHECK(std::fabs(mean_u - 0.5) < 0.01);
  CHECK(std::fabs(mean) < 0.03);
  CHECK(std::fabs(variance - 1) < 0.05);
}

TEST_CASE("the device generators have the right distributions") {
  check_moments<curandStateXORWOW_t>();
  check_moments<curandStatePhilox4_32_10_t>();
}

TEST_CASE("the host API fills device memory") {
  const size_t n = 20000;
  DeviceArray<float> a(n), b(n);
  curandGenerator_t generator;
  REQUIRE(curandCreateGenerator(&generator, CURAND_RNG_PSEUDO_DEFAULT) == CURAND_STATUS_SUCCESS);
  REQUIRE(curandSetPseudoRandomGeneratorSeed(generator, 7) == CURAND_STATUS_SUCCESS);
  REQUIRE(curandGenerateUniform(generator, a.get(), n) == CURAND_STATUS_SUCCESS);
  // A seed alone does not start over: what was drawn so far stays drawn, as with cuRAND on a GPU.
  REQUIRE(curandSetPseudoRandomGeneratorSeed(generator, 7) == CURAND_STATUS_SUCCESS);
  REQUIRE(curandGenerateUniform(generator, b.get(), n) == CURAND_STATUS_SUCCESS);
  const std::vector<float> second = b.values();
  CHECK(second != a.values());
  REQUIRE(curandSetGeneratorOffset(generator, n) == CURAND_STATUS_SUCCESS);
  REQUIRE(curandGenerateUniform(generator, b.get(), n) == CURAND_STATUS_SUCCESS);
  CHECK(b.values() == second);
  REQUIRE(curandSetGeneratorOffset(generator, 0) == CURAND_STATUS_SUCCESS);
  REQUIRE(curandGenerateUniform(generator, b.get(), n / 2) == CURAND_STATUS_SUCCESS);
  REQUIRE(curandGenerateUniform(generator, b.get() + n / 2, n / 2) == CURAND_STATUS_SUCCESS);
  CHECK(a.values() == b.values());
  REQUIRE(curandGenerateNormal(generator, a.get(), n, 10.0f, 2.0f) == CURAND_STATUS_SUCCESS);
  double mean = 0;
  for (float x : a.values()) mean += x / double(n);
  CHECK(std::fabs(mean - 10) < 0.1);
  CHECK(curandGenerateNormal(generator, a.get(), 3, 0, 1) == CURAND_STATUS_LENGTH_NOT_MULTIPLE);
  CHECK(curandDestroyGenerator(generator) == CURAND_STATUS_SUCCESS);
}
