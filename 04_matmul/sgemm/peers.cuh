// Rows to compare with: what the libraries offer, and the most the multipliers can do.
#pragma once

#include <cuda_runtime.h>
#include <dlfcn.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>

#include "04_matmul/sgemm/problem.cuh"
#include "common/bench/variant.cuh"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"

#if __has_include(<cublas_v2.h>)
#include "common/bench/cublas_handle.hpp"
#endif

namespace matmul::sgemm {

#if __has_include(<cublas_v2.h>)
// A function (Sgemm&, stream) that calls cublasSgemm in this mode. cuBLAS counts by columns: our
// row-major matrices are its transposed ones, and C' = B' A'.
inline auto cublas_sgemm(cublasMath_t mode) {
  const auto handle = std::make_shared<bench::CublasHandle>();
  return [handle, mode](Sgemm& p, cudaStream_t stream) {
    const int m = static_cast<int>(p.shape.m), n = static_cast<int>(p.shape.n);
    const int k = static_cast<int>(p.shape.k);
    const float one = 1, zero = 0;
    bench::CublasHandle::check(cublasSetStream(handle->get(), stream), "cublasSetStream");
    bench::CublasHandle::check(cublasSetMathMode(handle->get(), mode), "cublasSetMathMode");
    bench::CublasHandle::check(
        cublasSgemm(handle->get(), CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, p.device_b(), n,
                    p.device_a(), k, &zero, p.c.device_data(), n),
        "cublasSgemm");
  };
}
#endif

// cuBLAS as it comes: in its default mode floats do not go to tensor cores. (NVIDIA_TF32_OVERRIDE=1
// in the environment sends them there; then the check finds this row wrong.)
inline bench::Variant<Sgemm> sgemm_cublas() {
  const char* idea = "cublasSgemm in single precision, no tensor cores";
#if __has_include(<cublas_v2.h>)
  return bench::peer<Sgemm>("cublas", idea, cublas_sgemm(CUBLAS_DEFAULT_MATH));
#else
  return bench::missing_peer<Sgemm>("cublas", idea,
                                    "needs cuBLAS, which comes with the CUDA Toolkit");
#endif
}

// cuBLAS without whatever its default mode allows itself.
inline bench::Variant<Sgemm> sgemm_cublas_pedantic() {
  const char* idea = "cublasSgemm in its pedantic mode";
#if __has_include(<cublas_v2.h>)
  return bench::peer<Sgemm>("cublas_pedantic", idea, cublas_sgemm(CUBLAS_PEDANTIC_MATH));
#else
  return bench::missing_peer<Sgemm>("cublas_pedantic", idea,
                                    "needs cuBLAS, which comes with the CUDA Toolkit");
#endif
}

// Not the same computation: the tensor cores round inputs to 11 significant bits first.
inline bench::Variant<Sgemm> sgemm_cublas_tf32() {
  const char* idea = "cublasSgemm on tensor cores, inputs rounded to TF32";
#if __has_include(<cublas_v2.h>)
  auto variant = bench::peer<Sgemm>("cublas_tf32", idea, cublas_sgemm(CUBLAS_TF32_TENSOR_OP_MATH));
  variant.needs = bench::needs_sm(80);
#else
  auto variant = bench::missing_peer<Sgemm>("cublas_tf32", idea,
                                            "needs cuBLAS, which comes with the CUDA Toolkit");
#endif
  variant.idea = std::string("yardstick: ") + idea;
  variant.kind = bench::Kind::yardstick;
  variant.bytes = [](const Sgemm& p) { return p.bytes(); };
  variant.flops = [](const Sgemm& p) { return p.flops(); };
  variant.check = [](const Sgemm& p) { return p.check_tf32(); };
  return variant;
}

// OpenBLAS, if this machine has it, with as many threads as the rung `openmp`. A yardstick: the
// column "% peak" of the rows on the CPU is the part of its speed that they reach.
inline bench::Variant<Sgemm> sgemm_openblas() {
  using Cblas = void (*)(int, int, int, int, int, int, float, const float*, int, const float*, int,
                         float, float*, int);
  using SetThreads = void (*)(int);
  void* const library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  const auto find = [library](const char* name) {
    return library == nullptr ? nullptr : dlsym(library, name);
  };
  const auto multiply = reinterpret_cast<Cblas>(find("cblas_sgemm"));
  const auto set_threads = reinterpret_cast<SetThreads>(find("openblas_set_num_threads"));
  auto variant = bench::cpu_variant<Sgemm>(
      "openblas", "yardstick: cblas_sgemm of OpenBLAS, same threads",
      [multiply, set_threads](Sgemm& p) {
        constexpr int kRowMajor = 101, kNoTranspose = 111;  // of cblas.h
        const int m = static_cast<int>(p.shape.m), n = static_cast<int>(p.shape.n);
        const int k = static_cast<int>(p.shape.k);
        set_threads(omp_get_max_threads());
        multiply(kRowMajor, kNoTranspose, kNoTranspose, m, n, k, 1, p.a.host_data(), k,
                 p.b.host_data(), n, 0, p.c.host_data(), n);
      });
  variant.kind = bench::Kind::yardstick;
  if (multiply == nullptr || set_threads == nullptr) {
    variant.needs.missing = "needs libopenblas.so.0 (Debian, Ubuntu: libopenblas0)";
  }
  variant.bytes = [](const Sgemm& p) { return p.bytes(); };
  variant.flops = [](const Sgemm& p) { return p.flops(); };
  variant.check = [](const Sgemm& p) { return p.check(); };
  return variant;
}

// Multiply-adds and nothing else: each thread has 8 chains that do not depend on each other, enough
// to hide an instruction's latency. x = x x - 1.7 never settles, so the multipliers see data as
// random as that of a product, and stays between -1.7 and 1.2.
constexpr int kChains = 8, kSteps = 64;
__global__ void __launch_bounds__(256)
    sgemm_multiply_add_kernel(float* c, std::int64_t count, int repeats) {
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  float x[kChains];
#pragma unroll
  for (int i = 0; i < kChains; ++i) x[i] = 0.1f * i + 0.001f * (thread % 97);
  for (int repeat = 0; repeat < repeats; ++repeat) {
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
#pragma unroll
      for (int i = 0; i < kChains; ++i) x[i] = x[i] * x[i] - 1.7f;
    }
  }
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kChains; ++i) sum += x[i];
  if (thread < count) c[thread] = sum;  // a result nobody can foresee: the loop must be run
}

// About as many multiply-adds as the product has, and at least one repeat of every thread.
inline bench::Variant<Sgemm> sgemm_multiply_add() {
  struct Work {
    int blocks, repeats;
    double flops() const { return 2.0 * kChains * kSteps * 256 * blocks * repeats; }
  };
  const auto work = [](const Sgemm& p) {
    Work w{8 * kit::multiprocessor_count(), 1};  // 8 blocks of 256 threads fill an SM
    w.repeats = std::max(1, static_cast<int>(std::lround(p.flops() / w.flops())));
    return w;
  };
  auto variant = bench::device_variant<Sgemm>(
      "multiply_add", "yardstick: multiply-adds in registers, no memory",
      [work](Sgemm& p, cudaStream_t stream) {
        const Work w = work(p);
        sgemm_multiply_add_kernel<<<w.blocks, 256, 0, stream>>>(p.c.device_data(), p.c.size(),
                                                                w.repeats);
        CUDA_CHECK(cudaGetLastError());
      });
  variant.kind = bench::Kind::yardstick;
  variant.bytes = [](const Sgemm&) { return 0.0; };
  variant.flops = [work](const Sgemm& p) { return work(p).flops(); };
  variant.check = [work](const Sgemm& p) {
    const std::int64_t written = std::min<std::int64_t>(p.c.size(), 256 * work(p).blocks);
    return bench::compare(p.c.fetched(), p.c.fetched(), written, 0.0);  // no NaN: it was written
  };
  return variant;
}

}  // namespace matmul::sgemm
