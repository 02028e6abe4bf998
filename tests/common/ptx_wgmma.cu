// common/kit/ptx/wgmma.cuh: each shape of wgmma alone, with tiles written by hand in the layout
// that the copy engine's 128-byte swizzle gives. Numbers are small integers: results are exact.
#include "common/kit/ptx/wgmma.cuh"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <vector>

#include "common/bench/device_facts.cuh"
#include "common/kit/check.cuh"
#include "common/kit/device_buffer.cuh"
#include "common/kit/ptx/mma.cuh"
#include "common/kit/ptx/tma.cuh"
#include "tests/catch.hpp"

namespace {

constexpr int kM = 64, kK = 64;

// Where element `column` of row `row` lies in a tile of rows of 64 elements. (Only sm_90a asks.)
[[maybe_unused]] __device__ int swizzled(int row, int column) {
  return row * 64 + ((column / 8) ^ (row % 8)) * 8 + column % 8;
}

// Where A comes from: shared memory, as m x k or k x m, or registers.
enum class FromA { shared, transposed, registers };

// c = a b with a 64 x 64 row-major, or, if transposed, its columns as rows. b is n x 64 with a row
// for each column of the product, or, if kTransB, 64 x n row-major, kept as slabs of 64 columns.
// Everything is computed twice and added up, to see the accumulation.
template <class T, int kN, bool kTransB, FromA kFromA>
__global__ void __launch_bounds__(128, 1) wgmma_kernel(const T* a, const T* b, float* c) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ __align__(1024) unsigned char shared[];
  T* const tile_a = reinterpret_cast<T*>(shared);
  T* const tile_b = tile_a + kM * kK;
  for (int i = threadIdx.x; i < kM * kK; i += 128) tile_a[swizzled(i / kK, i % kK)] = a[i];
  for (int i = threadIdx.x; i < kN * kK; i += 128) {
    if (kTransB) {
      const int k = i / kN, n = i % kN;
      tile_b[n / 64 * kK * 64 + swizzled(k, n % 64)] = b[i];
    } else {
      tile_b[swizzled(i / kK, i % kK)] = b[i];
    }
  }
  ptx::fence_proxy_async();
  __syncthreads();

  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  float d[kN / 2];
  for (int i = 0; i < kN / 2; ++i) d[i] = 1e6f;  // the first product must not add to it
  std::uint32_t from_a[kK / 16][4];
  for (int step = 0; step < kK / 16; ++step) {
    ptx::ldmatrix_x4(from_a[step],
                     tile_a + swizzled(16 * warp + lane % 16, 16 * step + lane / 16 * 8));
  }
  ptx::fence_registers(d);
  ptx::wgmma_fence();
  for (int round = 0; round < 2; ++round) {
#pragma unroll
    for (int step = 0; step < kK / 16; ++step) {
      const bool accumulate = round > 0 || step > 0;
      const std::uint64_t a_tile =
          ptx::advance(ptx::descriptor_128B(tile_a, 0, 1024),
                       kFromA == FromA::transposed ? 2048 * step : 32 * step);
      const std::uint64_t b_tile =
          kTransB ? ptx::advance(ptx::descriptor_128B(tile_b, kK * 128, 1024), 2048 * step)
                  : ptx::advance(ptx::descriptor_128B(tile_b, 0, 1024), 32 * step);
      if constexpr (kFromA == FromA::registers) {
        ptx::wgmma<T, kTransB>(d, from_a[step], b_tile, accumulate);
      } else {
        ptx::wgmma<T, kTransB, kFromA == FromA::transposed>(d, a_tile, b_tile, accumulate);
      }
    }
  }
  ptx::wgmma_commit_group();
  ptx::wgmma_wait_group<0>();
  ptx::fence_registers(d);
  for (int i = 0; i < kN / 2; ++i) {
    const int row = 16 * warp + lane / 4 + 8 * (i / 2 % 2);
    const int column = 8 * (i / 4) + 2 * (lane % 4) + i % 2;
    c[row * kN + column] = d[i];
  }
#else
  (void)a, (void)b, (void)c;
#endif
}

bool has_wgmma() { return bench::query_device().compute_capability() == 90; }

// Returns how many elements of the product are wrong.
template <class T, int kN, bool kTransB, FromA kFromA>
int wrong_elements_of() {
  std::vector<T> a(kM * kK), b(kN * kK);
  const auto a_at = [](int m, int k) { return (m * 5 + k * 3) % 13 - 6; };
  const auto b_at = [](int k, int n) { return (k * 7 + n * 11) % 17 - 8; };
  for (int i = 0; i < kM * kK; ++i) {
    const int value = kFromA == FromA::transposed ? a_at(i % kM, i / kM) : a_at(i / kK, i % kK);
    a[i] = T(static_cast<float>(value));
  }
  for (int i = 0; i < kN * kK; ++i) {
    const int value = kTransB ? b_at(i / kN, i % kN) : b_at(i % kK, i / kK);
    b[i] = T(static_cast<float>(value));
  }
  const kit::DeviceBuffer<T> d_a(a.size()), d_b(b.size());
  const kit::DeviceBuffer<float> d_c(kM * kN);
  CUDA_CHECK(cudaMemcpy(d_a.data(), a.data(), d_a.bytes(), cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaMemcpy(d_b.data(), b.data(), d_b.bytes(), cudaMemcpyHostToDevice));
  const auto kernel = wgmma_kernel<T, kN, kTransB, kFromA>;
  constexpr int kBytes = (kM + kN) * kK * sizeof(T);
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes));
  kernel<<<1, 128, kBytes>>>(d_a.data(), d_b.data(), d_c.data());
  CUDA_CHECK(cudaGetLastError());
  std::vector<float> c(kM * kN);
  CUDA_CHECK(cudaMemcpy(c.data(), d_c.data(), d_c.bytes(), cudaMemcpyDeviceToHost));
  int wrong = 0;
  for (int m = 0; m < kM; ++m) {
    for (int n = 0; n < kN; ++n) {
      int sum = 0;
      for (int k = 0; k < kK; ++k) sum += 2 * a_at(m, k) * b_at(k, n);
      wrong += c[m * kN + n] != static_cast<float>(sum);
    }
  }
  return wrong;
}

// In bf16 and in fp16 together.
template <int kN, bool kTransB, FromA kFromA>
int wrong_elements() {
  return wrong_elements_of<__nv_bfloat16, kN, kTransB, kFromA>() +
         wrong_elements_of<__half, kN, kTransB, kFromA>();
}

}  // namespace

TEST_CASE("wgmma with both tiles in shared memory, B along K") {
  if (!has_wgmma()) SKIP_TEST("needs sm_90a");
  CHECK(wrong_elements<8, false, FromA::shared>() == 0);
  CHECK(wrong_elements<16, false, FromA::shared>() == 0);
  CHECK(wrong_elements<32, false, FromA::shared>() == 0);
  CHECK(wrong_elements<64, false, FromA::shared>() == 0);
  CHECK(wrong_elements<80, false, FromA::shared>() == 0);
  CHECK(wrong_elements<96, false, FromA::shared>() == 0);
  CHECK(wrong_elements<128, false, FromA::shared>() == 0);
  CHECK(wrong_elements<160, false, FromA::shared>() == 0);
  CHECK(wrong_elements<176, false, FromA::shared>() == 0);
  CHECK(wrong_elements<192, false, FromA::shared>() == 0);
  CHECK(wrong_elements<248, false, FromA::shared>() == 0);
  CHECK(wrong_elements<256, false, FromA::shared>() == 0);
}

TEST_CASE("wgmma with A along M: a slab of 64 rows") {
  if (!has_wgmma()) SKIP_TEST("needs sm_90a");
  CHECK(wrong_elements<64, false, FromA::transposed>() == 0);
  CHECK(wrong_elements<248, false, FromA::transposed>() == 0);
  CHECK(wrong_elements<64, true, FromA::transposed>() == 0);
  CHECK(wrong_elements<256, true, FromA::transposed>() == 0);
}

TEST_CASE("wgmma with B along N: slabs of 64 columns") {
  if (!has_wgmma()) SKIP_TEST("needs sm_90a");
  CHECK(wrong_elements<64, true, FromA::shared>() == 0);
  CHECK(wrong_elements<128, true, FromA::shared>() == 0);
  CHECK(wrong_elements<192, true, FromA::shared>() == 0);
  CHECK(wrong_elements<256, true, FromA::shared>() == 0);
}

TEST_CASE("wgmma with A in registers") {
  if (!has_wgmma()) SKIP_TEST("needs sm_90a");
  CHECK(wrong_elements<64, false, FromA::registers>() == 0);
  CHECK(wrong_elements<64, true, FromA::registers>() == 0);
  CHECK(wrong_elements<128, false, FromA::registers>() == 0);
  CHECK(wrong_elements<128, true, FromA::registers>() == 0);
  CHECK(wrong_elements<192, true, FromA::registers>() == 0);
  CHECK(wrong_elements<256, true, FromA::registers>() == 0);
}
