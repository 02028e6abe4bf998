// Rows to compare with: what the library offers, the most that mma.sync can do, and what it takes
// to read B.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>

#include "04_matmul/bf16/problem.cuh"
#include "04_matmul/study/read_only.cuh"
#include "common/bench/variant.cuh"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/ptx/mma.cuh"

#if __has_include(<cublas_v2.h>)
#include "common/bench/cublas_handle.hpp"
#endif

namespace matmul::bf16 {

#if __has_include(<cublas_v2.h>)
// A function (Problem&, stream) that calls cublasGemmEx in this mode. cuBLAS counts by columns: our
// row-major matrices are its transposed ones, and C' = B' A'.
template <bool kTransposedB>
auto cublas_gemm(cublasMath_t mode) {
  const auto handle = std::make_shared<bench::CublasHandle>();
  return [handle, mode](Bf16Gemm<kTransposedB>& p, cudaStream_t stream) {
    const int m = static_cast<int>(p.shape.m), n = static_cast<int>(p.shape.n);
    const int k = static_cast<int>(p.shape.k);
    const float one = 1, zero = 0;
    bench::CublasHandle::check(cublasSetStream(handle->get(), stream), "cublasSetStream");
    bench::CublasHandle::check(cublasSetMathMode(handle->get(), mode), "cublasSetMathMode");
    bench::CublasHandle::check(
        cublasGemmEx(handle->get(), kTransposedB ? CUBLAS_OP_T : CUBLAS_OP_N, CUBLAS_OP_N, n, m, k,
                     &one, p.device_b(), CUDA_R_16BF, kTransposedB ? k : n, p.device_a(),
                     CUDA_R_16BF, k, &zero, p.c.device_data(), CUDA_R_16BF, n, CUBLAS_COMPUTE_32F,
                     CUBLAS_GEMM_DEFAULT),
        "cublasGemmEx");
  };
}
#endif

// cuBLAS with sums in fp32, also between the parts of a sum that it may split.
template <bool kTransposedB>
bench::Variant<Bf16Gemm<kTransposedB>> cublas_peer() {
  using Problem = Bf16Gemm<kTransposedB>;
  const char* idea = "cublasGemmEx, bf16 in and out, sums in fp32";
#if __has_include(<cublas_v2.h>)
  auto variant = bench::peer<Problem>(
      "cublas", idea, cublas_gemm<kTransposedB>(CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION));
  variant.needs = bench::needs_sm(80);
  return variant;
#else
  return bench::missing_peer<Problem>("cublas", idea,
                                      "needs cuBLAS, which comes with the CUDA Toolkit");
#endif
}

// cuBLAS as most call it. Where it splits k, it may round the parts of a sum to bf16, and may then
// miss the bound of the other rows: its row says how often, and by how much.
template <bool kTransposedB>
bench::Variant<Bf16Gemm<kTransposedB>> cublas_default_yardstick() {
  using Problem = Bf16Gemm<kTransposedB>;
  const char* idea = "cublasGemmEx as it comes, parts of a sum may be bf16";
#if __has_include(<cublas_v2.h>)
  auto variant =
      bench::peer<Problem>("cublas_default", idea, cublas_gemm<kTransposedB>(CUBLAS_DEFAULT_MATH));
  variant.needs = bench::needs_sm(80);
#else
  auto variant = bench::missing_peer<Problem>("cublas_default", idea,
                                              "needs cuBLAS, which comes with the CUDA Toolkit");
#endif
  variant.idea = std::string("yardstick: ") + idea;
  variant.kind = bench::Kind::yardstick;
  variant.bytes = [](const Problem& p) { return p.bytes(); };
  variant.flops = [](const Problem& p) { return p.flops(); };
  variant.check = [](const Problem& p) { return p.check(); };
  variant.may_miss_bound = true;
  return variant;
}

// mma.sync and nothing else: each warp multiplies the same 4 x 4 fragments over and over, with
// enough sums that do not depend on each other. The fragments hold elements of A: data as random as
// that of a product.
constexpr int kFragments = 4;
__global__ void __launch_bounds__(256)
    bf16_gemm_mma_loop_kernel(const __nv_bfloat16* a, std::int64_t a_count, __nv_bfloat16* c,
                              std::int64_t c_count, int rounds) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  std::uint32_t from_a[kFragments][4], from_b[kFragments][2];
  const auto two = [&](int i) {
    const std::int64_t at = thread * 64 + 2 * i;
    return ptx::pack_bf16(a[at % a_count], a[(at + 1) % a_count]);
  };
#pragma unroll
  for (int r = 0; r < kFragments; ++r) {
#pragma unroll
    for (int i = 0; i < 4; ++i) from_a[r][i] = two(4 * r + i);
#pragma unroll
    for (int i = 0; i < 2; ++i) from_b[r][i] = two(16 + 2 * r + i);
  }
  float sum[kFragments][kFragments][4] = {};
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int r = 0; r < kFragments; ++r) {
#pragma unroll
      for (int s = 0; s < kFragments; ++s) {
        ptx::mma_m16n8k16(sum[r][s], from_a[r], from_b[s][0], from_b[s][1]);
      }
    }
  }
  float all = 0;
#pragma unroll
  for (int r = 0; r < kFragments; ++r) {
#pragma unroll
    for (int s = 0; s < kFragments; ++s) {
      all += sum[r][s][0] + sum[r][s][1] + sum[r][s][2] + sum[r][s][3];
    }
  }
  if (thread < c_count) c[thread] = __float2bfloat16(all);  // so that the loop must be run
#else
  (void)a, (void)a_count, (void)c, (void)c_count, (void)rounds;
#endif
}

// About as many multiply-adds as the product has, and at least one round of every warp.
template <bool kTransposedB>
bench::Variant<Bf16Gemm<kTransposedB>> mma_loop_yardstick() {
  using Problem = Bf16Gemm<kTransposedB>;
  struct Work {
    int blocks, rounds;
    double flops() const {
      return 2.0 * 16 * 8 * 16 * kFragments * kFragments * 8 * blocks * rounds;
    }
  };
  const auto work = [](const Problem& p) {
    Work w{2 * kit::multiprocessor_count(), 1};
    w.rounds = std::max(1, static_cast<int>(std::lround(p.flops() / w.flops())));
    return w;
  };
  auto variant = bench::device_variant<Problem>(
      "mma_loop", "yardstick: mma.sync on registers, no memory",
      [work](Problem& p, cudaStream_t stream) {
        const Work w = work(p);
        bf16_gemm_mma_loop_kernel<<<w.blocks, 256, 0, stream>>>(
            p.device_a(), p.a.size(), p.c.device_data(), p.c.size(), w.rounds);
        CUDA_CHECK(cudaGetLastError());
      },
      bench::needs_sm(80));
  variant.kind = bench::Kind::yardstick;
  variant.bytes = [](const Problem&) { return 0.0; };
  variant.flops = [work](const Problem& p) { return work(p).flops(); };
  variant.check = [work](const Problem& p) {
    const std::int64_t written = std::min<std::int64_t>(p.c.size(), 256 * work(p).blocks);
    return bench::compare(p.c.fetched(), p.c.fetched(), written, 0.0);  // no NaN: it was written
  };
  return variant;
}

// Yardstick: B's bytes read, nothing done with them.
template <bool kTransposedB>
bench::Variant<Bf16Gemm<kTransposedB>> read_only_yardstick() {
  using Problem = Bf16Gemm<kTransposedB>;
  auto variant = bench::device_variant<Problem>(
      "read_only", "yardstick: reads B and keeps nothing", [](Problem& p, cudaStream_t stream) {
        read_only(p.device_b(), p.b.size() * static_cast<std::int64_t>(sizeof(__nv_bfloat16)),
                  p.c.device_data(), stream);
      });
  variant.kind = bench::Kind::yardstick;
  variant.bytes = [](const Problem& p) { return 16.0 * static_cast<double>(p.b.size() / 8); };
  variant.flops = [](const Problem&) { return 0.0; };
  variant.check = [](const Problem&) { return bench::Comparison{}; };  // it has no result
  return variant;
}

}  // namespace matmul::bf16
