// Rows to compare with: attention in three kernels, what a framework without a fused kernel does.
// The products are cuBLAS's; the softmax is that of naive.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <memory>
#include <type_traits>

#include "07_flash_attention/attention/03_naive.cuh"
#include "07_flash_attention/problem.cuh"
#include "common/bench/variant.cuh"
#include "common/kit/check.cuh"

#if __has_include(<cublas_v2.h>)
#include "common/bench/cublas_handle.hpp"
#endif

namespace attention {

#if __has_include(<cublas_v2.h>)
// For each of `count` heads: c = factor op(a) b. cuBLAS counts by columns: c is rows x cols, b is
// depth x cols, a is rows x depth or, transposed, depth x rows, each without gaps. Products are
// summed in fp32; floats do not go to tensor cores.
template <class T>
void cublas_of_heads(cublasHandle_t handle, bool transposed, int rows, int cols, int depth,
                     float factor, const T* a, const T* b, T* c, int count) {
  constexpr bool kIsFloat = std::is_same_v<T, float>;
  constexpr bool kIsHalf = std::is_same_v<T, __half>;
  constexpr auto kType = kIsFloat ? CUDA_R_32F : kIsHalf ? CUDA_R_16F : CUDA_R_16BF;
  const float zero = 0;
  const auto size = [](int x, int y) { return static_cast<long long>(x) * y; };
  bench::CublasHandle::check(
      cublasGemmStridedBatchedEx(handle, transposed ? CUBLAS_OP_T : CUBLAS_OP_N, CUBLAS_OP_N, rows,
                                 cols, depth, &factor, a, kType, transposed ? depth : rows,
                                 size(rows, depth), b, kType, depth, size(depth, cols), &zero, c,
                                 kType, rows, size(rows, cols), count, CUBLAS_COMPUTE_32F,
                                 CUBLAS_GEMM_DEFAULT),
      "cublasGemmStridedBatchedEx");
}
#endif

// The naive rung, for any type. In 16 bits scores and weights are rounded on their way through
// memory, so it may err as much as that costs.
template <class T>
bench::Variant<Problem<T>> naive_variant() {
  auto variant = bench::device_variant<Problem<T>>(
      "naive", "three kernels, all scores in global memory",
      [](Problem<T>& p, cudaStream_t stream) {
        naive(p.shape, p.device_data(), p.workspace.template get<T>(p.shape.rows() * p.shape.n_k),
              stream);
      });
  if (Problem<T>::kIs16Bit) variant.check = [](const Problem<T>& p) { return p.check_eager(); };
  return variant;
}

template <class T>
bench::Variant<Problem<T>> cublas() {
  const char* idea = "three kernels, products by cuBLAS, all scores in global memory";
#if __has_include(<cublas_v2.h>)
  const auto handle = std::make_shared<bench::CublasHandle>();
  auto variant =
      bench::peer<Problem<T>>("cublas", idea, [handle](Problem<T>& p, cudaStream_t stream) {
        const Shape& shape = p.shape;
        const Tensors<T> t = p.device_data();
        const int n_q = static_cast<int>(shape.n_q), n_k = static_cast<int>(shape.n_k);
        const int heads = static_cast<int>(shape.all_heads());
        T* s = p.workspace.template get<T>(shape.rows() * shape.n_k);
        bench::CublasHandle::check(cublasSetStream(handle->get(), stream), "cublasSetStream");
        // By columns our K is d x n_k, Q is d x n_q and S is n_k x n_q: S = K' Q.
        cublas_of_heads(handle->get(), true, n_k, n_q, shape.d, shape.scale(), t.k, t.q, s, heads);
        attention_softmax_kernel<<<heads * n_q, kSoftmaxThreads, 0, stream>>>(s, t.lse, n_q, n_k,
                                                                              shape.causal);
        CUDA_CHECK(cudaGetLastError());
        // O = V S
        cublas_of_heads(handle->get(), false, shape.d, n_q, n_k, 1.0f, t.v, s, t.o, heads);
      });
#else
  auto variant = bench::missing_peer<Problem<T>>("cublas", idea,
                                                 "needs cuBLAS, which comes with the CUDA Toolkit");
#endif
  if (Problem<T>::kIs16Bit) {
    variant.check = [](const Problem<T>& p) { return p.check_eager(); };
  }
  return variant;
}

}  // namespace attention
