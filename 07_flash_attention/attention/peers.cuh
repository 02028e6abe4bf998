// A row to compare with: the same three steps as the naive rung, with cuBLAS for the two products.
// It is what a framework without a fused kernel does, at the best it can be.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <memory>
#include <type_traits>

#include "07_flash_attention/attention/03_naive.cuh"
#include "07_flash_attention/attention/problem.cuh"
#include "common/cuda_check.cuh"
#include "common/variant.cuh"

#if __has_include(<cublas_v2.h>)
#include "common/cublas_handle.hpp"

// For each of `count` heads: c = factor op(a) b. cuBLAS counts by columns: c is rows x cols, b is
// depth x cols, a is rows x depth or, turned, depth x rows, each without gaps. Products are summed
// in fp32; floats do not go to tensor cores.
template <class T>
void cublas_of_heads(cublasHandle_t handle, bool turned, int rows, int cols, int depth,
                     float factor, const T* a, const T* b, T* c, int count) {
  constexpr bool kIsFloat = std::is_same_v<T, float>;
  constexpr bool kIsHalf = std::is_same_v<T, __half>;
  constexpr auto kType = kIsFloat ? CUDA_R_32F : kIsHalf ? CUDA_R_16F : CUDA_R_16BF;
  constexpr auto kCompute = kIsFloat ? CUBLAS_COMPUTE_32F_PEDANTIC : CUBLAS_COMPUTE_32F;
  const float zero = 0;
  const auto size = [](int x, int y) { return static_cast<long long>(x) * y; };
  common::CublasHandle::check(
      cublasGemmStridedBatchedEx(
          handle, turned ? CUBLAS_OP_T : CUBLAS_OP_N, CUBLAS_OP_N, rows, cols, depth, &factor, a,
          kType, turned ? depth : rows, size(rows, depth), b, kType, depth, size(depth, cols),
          &zero, c, kType, rows, size(rows, cols), count, kCompute, CUBLAS_GEMM_DEFAULT),
      "cublasGemmStridedBatchedEx");
}
#endif

template <class T>
common::Variant<Attention<T>> attention_cublas() {
  const char* idea = "three kernels, products by cuBLAS, all scores in global memory";
#if __has_include(<cublas_v2.h>)
  const auto handle = std::make_shared<common::CublasHandle>();
  auto variant =
      common::peer<Attention<T>>("cublas", idea, [handle](Attention<T>& p, cudaStream_t stream) {
        const AttentionShape& shape = p.shape;
        const Tensors<T> t = p.on_device();
        const int n_q = static_cast<int>(shape.n_q), n_k = static_cast<int>(shape.n_k);
        const int heads = static_cast<int>(shape.all_heads());
        T* s = p.workspace.template get<T>(shape.rows() * shape.n_k);
        common::CublasHandle::check(cublasSetStream(handle->get(), stream), "cublasSetStream");
        // By columns our K is d x n_k, Q is d x n_q and S is n_k x n_q: S = K' Q.
        cublas_of_heads(handle->get(), true, n_k, n_q, shape.d, shape.scale(), t.k, t.q, s, heads);
        attention_softmax_kernel<<<heads * n_q, kSoftmaxThreads, 0, stream>>>(s, t.lse, n_q, n_k,
                                                                              shape.causal);
        CUDA_CHECK(cudaGetLastError());
        // O = V S
        cublas_of_heads(handle->get(), false, shape.d, n_q, n_k, 1.0f, t.v, s, t.o, heads);
      });
#else
  auto variant = common::missing_peer<Attention<T>>(
      "cublas", idea, "needs cuBLAS, which comes with the CUDA Toolkit");
#endif
  if (Attention<T>::kIs16Bit) {
    variant.check = [](const Attention<T>& p) { return p.check_eager(); };
  }
  return variant;
}
