// common/kit/ptx/mma.cuh: each instruction alone, on a device that has it. Numbers are small
// integers, so that every result is exact.
#include "common/kit/ptx/mma.cuh"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "common/bench/device_facts.cuh"
#include "common/kit/check.cuh"
#include "common/kit/device_buffer.cuh"
#include "tests/catch.hpp"

namespace {

using bf16 = __nv_bfloat16;

bool has_sm(int capability) { return bench::query_device().compute_capability() >= capability; }

// c = a b with a 16 x 16 and b 16 x 8, both row-major; rows of b from `rows` on count as zeros.
template <class T>
__global__ void mma_kernel(const T* a, const T* b, float* c, int rows) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  __shared__ alignas(16) T tile_a[16][16], tile_b[16][8];
  const int lane = threadIdx.x;
  ptx::cp_async_16(&tile_a[lane / 2][lane % 2 * 8], a + lane * 8);
  if (lane < 16) ptx::cp_async_16(tile_b[lane], b + lane * 8, lane < rows);
  ptx::cp_async_commit();
  ptx::cp_async_wait<0>();
  __syncthreads();

  std::uint32_t from_a[4], from_b[4];
  ptx::ldmatrix_x4(from_a, &tile_a[lane % 16][lane / 16 * 8]);
  ptx::ldmatrix_x4_trans(from_b, tile_b[lane % 16]);  // lanes 16 to 31 bring the same again
  float d[4] = {};
  ptx::mma_m16n8k16<T>(d, from_a, from_b[0], from_b[1]);
  for (int i = 0; i < 4; ++i) {
    c[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2] = d[i];
  }
#else
  (void)a, (void)b, (void)c, (void)rows;
#endif
}

// Four 8 x 8 matrices through registers and back, each 128 bytes on from the last.
template <bool kTransposed>
__global__ void round_trip_kernel(const bf16* in, bf16* out) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  __shared__ alignas(16) bf16 from[256], to[256];
  for (int i = threadIdx.x; i < 256; i += 32) from[i] = in[i];
  __syncwarp();
  std::uint32_t r[4];
  ptx::ldmatrix_x4(r, from + threadIdx.x * 8);
  if constexpr (kTransposed) {
    ptx::stmatrix_x4_trans(to + threadIdx.x * 8, r[0], r[1], r[2], r[3]);
  } else {
    ptx::stmatrix_x4(to + threadIdx.x * 8, r[0], r[1], r[2], r[3]);
  }
  __syncwarp();
  for (int i = threadIdx.x; i < 256; i += 32) out[i] = to[i];
#else
  (void)in, (void)out;
#endif
}

template <class T>
__global__ void convert_kernel(const float* x, std::uint32_t* packed, float* power) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  packed[threadIdx.x] = ptx::pack<T>(x[threadIdx.x], -2 * x[threadIdx.x]);
  power[threadIdx.x] = ptx::ex2(x[threadIdx.x]);
#else
  (void)x, (void)packed, (void)power;
#endif
}

template <class T>
kit::DeviceBuffer<T> on_device(const std::vector<T>& values) {
  kit::DeviceBuffer<T> buffer(values.size());
  CUDA_CHECK(cudaMemcpy(buffer.data(), values.data(), buffer.bytes(), cudaMemcpyHostToDevice));
  return buffer;
}

template <class T>
std::vector<T> on_host(const kit::DeviceBuffer<T>& buffer) {
  std::vector<T> values(buffer.size());
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaMemcpy(values.data(), buffer.data(), buffer.bytes(), cudaMemcpyDeviceToHost));
  return values;
}

// With elements of A that are whole multiples of `unit`.
template <class T>
void check_product(float unit) {
  std::vector<T> a(16 * 16), b(16 * 8);
  for (int i = 0; i < 256; ++i) a[i] = T(unit * static_cast<float>(i * 7 % 23 - 11));
  for (int i = 0; i < 128; ++i) b[i] = T(static_cast<float>(i * 5 % 19 - 9));
  const auto d_a = on_device(a), d_b = on_device(b);
  for (const int rows : {16, 11}) {
    const kit::DeviceBuffer<float> d_c(16 * 8);
    mma_kernel<<<1, 32>>>(d_a.data(), d_b.data(), d_c.data(), rows);
    const std::vector<float> c = on_host(d_c);
    for (int row = 0; row < 16; ++row) {
      for (int col = 0; col < 8; ++col) {
        float sum = 0;
        for (int k = 0; k < rows; ++k) {
          sum += static_cast<float>(a[row * 16 + k]) * static_cast<float>(b[k * 8 + col]);
        }
        CHECK(c[row * 8 + col] == sum);
      }
    }
  }
}

// The kernel's results for x (and for -2 x, in the upper half) against those of the host.
template <class T>
void check_pack(const std::vector<float>& x) {
  const int count = static_cast<int>(x.size());
  const kit::DeviceBuffer<std::uint32_t> d_packed(count);
  const kit::DeviceBuffer<float> d_power(count);
  convert_kernel<T><<<1, count>>>(on_device(x).data(), d_packed.data(), d_power.data());
  const auto packed = on_host(d_packed);
  const auto power = on_host(d_power);
  const auto bits = [](float value) {
    const T rounded(value);
    return static_cast<std::uint32_t>(reinterpret_cast<const std::uint16_t&>(rounded));
  };
  for (int i = 0; i < count; ++i) {
    INFO(x[i]);
    CHECK(packed[i] == (bits(x[i]) | bits(-2 * x[i]) << 16));
    const double exact = std::exp2(static_cast<double>(x[i]));
    if (exact > 0x1p127) continue;  // infinite
    CHECK(std::fabs(power[i] - exact) <= exact * 0x1p-22 + 0x1p-126);
  }
}

}  // namespace

TEST_CASE("cp.async, ldmatrix and mma.sync multiply two small matrices") {
  if (!has_sm(80)) SKIP_TEST("needs sm_80");
  SECTION("bf16") { check_product<bf16>(1); }
  SECTION("fp16") { check_product<__half>(1); }
  SECTION("fp16, below its normal numbers") { check_product<__half>(0x1p-24f); }
}

TEST_CASE("stmatrix puts back what ldmatrix took, or turns it") {
  if (!has_sm(90)) SKIP_TEST("needs sm_90");
  std::vector<bf16> in(256);
  for (int i = 0; i < 256; ++i) in[i] = __float2bfloat16(static_cast<float>(i));
  const kit::DeviceBuffer<bf16> d_out(256);
  round_trip_kernel<false><<<1, 32>>>(on_device(in).data(), d_out.data());
  const std::vector<bf16> out = on_host(d_out);
  for (int i = 0; i < 256; ++i) CHECK(__bfloat162float(out[i]) == i);
  round_trip_kernel<true><<<1, 32>>>(on_device(in).data(), d_out.data());
  const std::vector<bf16> turned = on_host(d_out);
  for (int i = 0; i < 256; ++i) {  // row i / 8 % 8 and column i % 8 of matrix i / 64
    CHECK(__bfloat162float(turned[i / 64 * 64 + i % 8 * 8 + i / 8 % 8]) == i);
  }
}

TEST_CASE("pack rounds to nearest even, ex2 is close to 2^x") {
  if (!has_sm(80)) SKIP_TEST("needs sm_80");
  // 1 + 2^-8 lies between two bf16 numbers; the even one is 1. 1 + 3 2^-8 goes up to 1 + 2^-6. The
  // same with 2^-11 in fp16.
  SECTION("bf16") {
    check_pack<bf16>({0, 1, -1, 0.3f, 1 + 0x1p-8f, 1 + 0x3p-8f, -7.5f, -150, -INFINITY});
  }
  // fp16 ends at 65504: from 65520 on numbers round to infinity. Below 2^-14 its neighbours are
  // 2^-24 apart: 2^-25 is a tie and becomes 0, a little more becomes 2^-24.
  SECTION("fp16") {
    check_pack<__half>({0, 1, -1, 0.3f, 1 + 0x1p-11f, 1 + 0x3p-11f, -7.5f, -150, -INFINITY});
    check_pack<__half>({65504, 65519.996f, 65520, -32760, 0x1.004p-14f, 0x1.ffcp-15f, 0x1p-24f,
                        0x3p-25f, 0x1p-25f, 0x1.8p-25f, -0x1p-26f});
  }
}
