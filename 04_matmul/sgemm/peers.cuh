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
#include "04_matmul/sgemm/tiles.cuh"
#include "common/cuda_check.cuh"
#include "common/variant.cuh"

#if __has_include(<cublas_v2.h>)
#include "common/cublas_handle.hpp"

// A function (Sgemm&, stream) that calls cublasSgemm in this mode. cuBLAS counts by columns: our
// row-major matrices are its transposed ones, and C' = B' A'.
inline auto cublas_sgemm(cublasMath_t mode) {
  const auto handle = std::make_shared<common::CublasHandle>();
  return [handle, mode](Sgemm& p, cudaStream_t stream) {
    const int m = static_cast<int>(p.shape.m), n = static_cast<int>(p.shape.n);
    const int k = static_cast<int>(p.shape.k);
    const float one = 1, zero = 0;
    common::CublasHandle::check(cublasSetStream(handle->get(), stream), "cublasSetStream");
    common::CublasHandle::check(cublasSetMathMode(handle->get(), mode), "cublasSetMathMode");
    common::CublasHandle::check(
        cublasSgemm(handle->get(), CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, p.device_b(), n,
                    p.device_a(), k, &zero, p.c.on_device(), n),
        "cublasSgemm");
  };
}
#endif

// cuBLAS without tensor cores: pedantic mode rules out TF32, whatever the environment says.
inline common::Variant<Sgemm> sgemm_cublas() {
  const char* idea = "cublasSgemm in single precision, no tensor cores";
#if __has_include(<cublas_v2.h>)
  return common::peer<Sgemm>("cublas", idea, cublas_sgemm(CUBLAS_PEDANTIC_MATH));
#else
  return common::missing_peer<Sgemm>("cublas", idea,
                                     "needs cuBLAS, which comes with the CUDA Toolkit");
#endif
}

// Not the same computation: the tensor cores round inputs to 11 significant bits first.
inline common::Variant<Sgemm> sgemm_cublas_tf32() {
  const char* idea = "cublasSgemm on tensor cores, inputs rounded to TF32";
#if __has_include(<cublas_v2.h>)
  auto variant = common::peer<Sgemm>("cublas_tf32", idea, cublas_sgemm(CUBLAS_TF32_TENSOR_OP_MATH));
  variant.needs = common::needs_sm(80);
#else
  auto variant = common::missing_peer<Sgemm>("cublas_tf32", idea,
                                             "needs cuBLAS, which comes with the CUDA Toolkit");
#endif
  variant.idea = std::string("yardstick: ") + idea;
  variant.kind = common::Kind::yardstick;
  variant.bytes = [](const Sgemm& p) { return p.bytes(); };
  variant.flops = [](const Sgemm& p) { return p.flops(); };
  variant.check = [](const Sgemm& p) { return p.check_tf32(); };
  return variant;
}

// OpenBLAS, if this machine has it, with as many threads as the rung `openmp`. A yardstick: the
// column "% roof" of the rows on the CPU is the part of its speed that they reach.
inline common::Variant<Sgemm> sgemm_openblas() {
  using Cblas = void (*)(int, int, int, int, int, int, float, const float*, int, const float*, int,
                         float, float*, int);
  using SetThreads = void (*)(int);
  void* const library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  const auto find = [library](const char* name) {
    return library == nullptr ? nullptr : dlsym(library, name);
  };
  const auto multiply = reinterpret_cast<Cblas>(find("cblas_sgemm"));
  const auto set_threads = reinterpret_cast<SetThreads>(find("openblas_set_num_threads"));
  auto variant = common::on_cpu<Sgemm>(
      "openblas", "yardstick: cblas_sgemm of OpenBLAS, same threads",
      [multiply, set_threads](Sgemm& p) {
        constexpr int kRowMajor = 101, kNoTranspose = 111;  // of cblas.h
        const int m = static_cast<int>(p.shape.m), n = static_cast<int>(p.shape.n);
        const int k = static_cast<int>(p.shape.k);
        set_threads(omp_get_max_threads());
        multiply(kRowMajor, kNoTranspose, kNoTranspose, m, n, k, 1, p.a.on_host(), k, p.b.on_host(),
                 n, 0, p.c.on_host(), n);
      });
  variant.kind = common::Kind::yardstick;
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
constexpr int kChains = 8, kTurns = 64;
__global__ void __launch_bounds__(256)
    sgemm_multiply_add_kernel(float* c, std::int64_t count, int rounds) {
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  float x[kChains];
#pragma unroll
  for (int i = 0; i < kChains; ++i) x[i] = 0.1f * i + 0.001f * (thread % 97);
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int turn = 0; turn < kTurns; ++turn) {
#pragma unroll
      for (int i = 0; i < kChains; ++i) x[i] = x[i] * x[i] - 1.7f;
    }
  }
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kChains; ++i) sum += x[i];
  if (thread < count) c[thread] = sum;  // a result nobody can foresee: the loop must be run
}

// About as many multiply-adds as the product has, and at least one round of every thread.
inline common::Variant<Sgemm> sgemm_multiply_add() {
  struct Work {
    int blocks, rounds;
    double flops() const { return 2.0 * kChains * kTurns * 256 * blocks * rounds; }
  };
  const auto work = [](const Sgemm& p) {
    Work w{8 * multiprocessor_count(), 1};  // 8 blocks of 256 threads fill an SM
    w.rounds = std::max(1, static_cast<int>(std::lround(p.flops() / w.flops())));
    return w;
  };
  auto variant =
      common::on_device<Sgemm>("multiply_add", "yardstick: multiply-adds in registers, no memory",
                               [work](Sgemm& p, cudaStream_t stream) {
                                 const Work w = work(p);
                                 sgemm_multiply_add_kernel<<<w.blocks, 256, 0, stream>>>(
                                     p.c.on_device(), p.c.size(), w.rounds);
                                 CUDA_CHECK(cudaGetLastError());
                               });
  variant.kind = common::Kind::yardstick;
  variant.bytes = [](const Sgemm&) { return 0.0; };
  variant.flops = [work](const Sgemm& p) { return work(p).flops(); };
  variant.check = [work](const Sgemm& p) {
    const std::int64_t written = std::min<std::int64_t>(p.c.size(), 256 * work(p).blocks);
    return common::compare(p.c.fetched(), p.c.fetched(), written, 0.0);  // no NaN: it was written
  };
  return variant;
}
