// half, bfloat16, and matrix products on them.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <mma.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "simt/tests/device_array.hpp"
#include "tests/catch.hpp"

TEST_CASE("every half survives the way to float and back") {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const __half h = __ushort_as_half(static_cast<unsigned short>(bits));
    const float f = __half2float(h);
    if (std::isnan(f)) {
      REQUIRE((bits & 0x7fff) > 0x7c00);
      REQUIRE(std::isnan(__half2float(__float2half(f))));
    } else {
      REQUIRE(__half_as_ushort(__float2half(f)) == bits);
    }
  }
}

TEST_CASE("floats are rounded to the nearest half, ties to even") {
  CHECK(__half2float(__float2half(1.0f + 0x1p-11f)) == 1.0f);                // tie: down to even
  CHECK(__half2float(__float2half(1.0f + 3 * 0x1p-11f)) == 1.0f + 0x1p-9f);  // tie: up to even
  CHECK(__half2float(__float2half(1.0f + 1.01f * 0x1p-11f)) == 1.0f + 0x1p-10f);
  CHECK(__half2float(__float2half(65504.0f)) == 65504.0f);
  CHECK(std::isinf(__half2float(__float2half(65520.0f))));
  CHECK(__half2float(__float2half(65519.9f)) == 65504.0f);
  CHECK(__half2float(__float2half(0x1p-24f)) == 0x1p-24f);  // the smallest
  CHECK(__half2float(__float2half(0x1p-25f)) == 0.0f);
  CHECK(__half2float(__float2half(1.1f * 0x1p-25f)) == 0x1p-24f);
  CHECK(__half2float(__float2half_rz(1.999f)) <= 1.999f);
  CHECK(__half2float(__half(1.0 + 0x1p-11 + 0x1p-40)) == 1.0f + 0x1p-10f);  // no double rounding
}

// Every one of the 256 numbers comes back, and each float goes to the nearest of them.
template <class Fp8>
void check_fp8(float largest, int mantissa_bits, int bias) {
  std::vector<float> values;
  for (unsigned bits = 0; bits < 128; ++bits) {
    Fp8 x;
    x.__x = static_cast<unsigned char>(bits);
    const float value = static_cast<float>(x);
    const int exponent = int(bits >> mantissa_bits),
              mantissa = int(bits) & ((1 << mantissa_bits) - 1);
    if (!std::isfinite(value)) continue;
    const int one = exponent == 0 ? 0 : 1 << mantissa_bits;
    CHECK(value == std::ldexp(float(one + mantissa), std::max(exponent, 1) - bias - mantissa_bits));
    CHECK(Fp8(value).__x == bits);
    CHECK(Fp8(-value).__x == (bits | 128));
    values.push_back(value);
  }
  CHECK(values.back() == largest);
  CHECK(static_cast<float>(Fp8(1e9f)) == largest);  // saturates
  CHECK(std::isnan(static_cast<float>(Fp8(NAN))));
  for (size_t i = 0; i + 1 < values.size(); ++i) {
    const float low = values[i], high = values[i + 1], middle = (low + high) / 2;
    CHECK(static_cast<float>(Fp8(middle)) == (i % 2 ? high : low));  // ties to even
    CHECK(static_cast<float>(Fp8(std::nextafter(middle, low))) == low);
    CHECK(static_cast<float>(Fp8(std::nextafter(middle, high))) == high);
  }
}

TEST_CASE("8-bit floats: every number, every tie, and what is too large") {
  check_fp8<__nv_fp8_e4m3>(448, 3, 7);
  check_fp8<__nv_fp8_e5m2>(57344, 2, 15);
  CHECK(__nv_cvt_float_to_fp8(464, __NV_NOSAT, __NV_E4M3) == 0x7e);
  CHECK(__nv_cvt_float_to_fp8(465, __NV_NOSAT, __NV_E4M3) == 0x7f);
  CHECK(__nv_cvt_float_to_fp8(-61440, __NV_NOSAT, __NV_E5M2) == 0xfc);
  const float4 four(__nv_fp8x4_e4m3(float4{1, -2, 0.5f, 448}));
  CHECK(four.x == 1);
  CHECK(four.y == -2);
  CHECK(four.z == 0.5f);
  CHECK(four.w == 448);
  CHECK(__nv_cvt_fp8_to_halfraw(0x38, __NV_E4M3).x == 0x3c00);
}

TEST_CASE("bfloat16 is the upper half of a float") {
  CHECK(__bfloat16_as_ushort(__float2bfloat16(1.0f)) == 0x3f80);
  CHECK(__bfloat162float(__float2bfloat16(1.0f + 0x1p-8f)) == 1.0f);
  CHECK(__bfloat162float(__float2bfloat16(1.0f + 3 * 0x1p-8f)) == 1.0f + 0x1p-6f);
  CHECK(std::isnan(__bfloat162float(__float2bfloat16(NAN))));
  CHECK(__bfloat162float(__float2bfloat16(-3e38f)) < -2.9e38f);
}

__global__ void half_arithmetic(float* out) {
  const half a = __float2half(1.5f), b = __float2half(0.25f);
  out[0] = __half2float(a + b);
  out[1] = __half2float(__hfma(a, b, a));
  out[2] = __hgt(a, b);
  const half2 pair =
      __hfma2(__floats2half2_rn(1, 2), __floats2half2_rn(3, 4), __floats2half2_rn(5, 6));
  out[3] = __low2float(pair);
  out[4] = __high2float(pair);
  out[5] = __half2float(hsqrt(__float2half(2.25f)));
  out[6] = float(__hmax(a, b));
  const __nv_bfloat162 brain = __floats2bfloat162_rn(3, 5);
  out[7] = __bfloat162float(brain.x * brain.y);
  half sum = a;
  sum += b;
  out[8] = sum;
  out[9] = __shfl_sync(0xffffffffu, __float2half(float(threadIdx.x)), 7);
}

TEST_CASE("half arithmetic in a kernel") {
  DeviceArray<float> out(10);
  half_arithmetic<<<1, 32>>>(out.get());
  const std::vector<float> expected = {1.75f, 1.875f, 1, 8, 14, 1.5f, 1.5f, 15, 1.75f, 7};
  CHECK(out.values() == expected);
}

__global__ void half_atomics(half* sum, half2* pair) {
  atomicAdd(sum, __float2half(1));
  atomicAdd(pair, __floats2half2_rn(1, 2));
}

TEST_CASE("atomics on halves") {
  DeviceArray<half> sum(1, __float2half(0));
  DeviceArray<half2> pair(1, __floats2half2_rn(0, 0));
  half_atomics<<<4, 64>>>(sum.get(), pair.get());
  CHECK(__half2float(sum.values()[0]) == 256);
  CHECK(__high2float(pair.values()[0]) == 512);
}

// ---- WMMA -------------------------------------------------------------------------------------

using namespace nvcuda;

template <int M, int N, int K, class T, class LayoutA, class LayoutB>
__global__ void multiply(const T* a, const T* b, float* c, unsigned lda, unsigned ldb) {
  wmma::fragment<wmma::matrix_a, M, N, K, T, LayoutA> fa;
  wmma::fragment<wmma::matrix_b, M, N, K, T, LayoutB> fb;
  wmma::fragment<wmma::accumulator, M, N, K, float> fc;
  wmma::fill_fragment(fc, 1.0f);
  wmma::load_matrix_sync(fa, a, lda);
  wmma::load_matrix_sync(fb, b, ldb);
  wmma::mma_sync(fc, fa, fb, fc);
  for (int i = 0; i < fc.num_elements; ++i) fc.x[i] *= 2;
  wmma::store_matrix_sync(c, fc, N, wmma::mem_row_major);
}

namespace {

template <int M, int N, int K, class T, class LayoutA, class LayoutB>
void check_product() {
  DeviceArray<T> a(M * K), b(K * N);
  DeviceArray<float> c(M * N, -1.0f);
  constexpr bool a_columns = std::is_same<LayoutA, wmma::col_major>::value;
  constexpr bool b_columns = std::is_same<LayoutB, wmma::col_major>::value;
  auto value_a = [](int m, int k) { return float((m * 3 + k) % 7 - 3); };
  auto value_b = [](int k, int n) { return float((k + n * 2) % 5 - 2); };
  for (int m = 0; m < M; ++m)
    for (int k = 0; k < K; ++k) a[a_columns ? k * M + m : m * K + k] = T(value_a(m, k));
  for (int k = 0; k < K; ++k)
    for (int n = 0; n < N; ++n) b[b_columns ? n * K + k : k * N + n] = T(value_b(k, n));
  multiply<M, N, K, T, LayoutA, LayoutB>
      <<<1, 32>>>(a.get(), b.get(), c.get(), a_columns ? M : K, b_columns ? K : N);
  auto values = c.values();
  for (int m = 0; m < M; ++m)
    for (int n = 0; n < N; ++n) {
      float expected = 1;
      for (int k = 0; k < K; ++k) expected += value_a(m, k) * value_b(k, n);
      REQUIRE(values[m * N + n] == 2 * expected);
    }
}

}  // namespace

TEST_CASE("WMMA multiplies matrices of every shape and layout") {
  check_product<16, 16, 16, half, wmma::row_major, wmma::col_major>();
  check_product<16, 16, 16, half, wmma::col_major, wmma::row_major>();
  check_product<32, 8, 16, half, wmma::row_major, wmma::row_major>();
  check_product<8, 32, 16, half, wmma::row_major, wmma::row_major>();
  check_product<16, 16, 16, __nv_bfloat16, wmma::row_major, wmma::row_major>();
}
