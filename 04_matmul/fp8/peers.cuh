// What the library offers for products in fp8: cuBLASLt, with the same scales, and its sums moved
// to fp32 on the way or, where it may, kept in the tensor cores. And what it takes to read B.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>

#include "04_matmul/fp8/problem.cuh"
#include "04_matmul/fp8/product.cuh"
#include "04_matmul/kit/scaling.cuh"
#include "04_matmul/study/read_only.cuh"
#include "common/bench/compare.hpp"
#include "common/bench/variant.cuh"
#include "common/kit/check.cuh"
#include "common/kit/workspace.cuh"

#if __has_include(<cublasLt.h>)
#include <cublasLt.h>
#if CUBLAS_VERSION >= 120900
#define HAS_CUBLASLT_SCALES
#endif
#endif

namespace matmul::fp8 {

#if defined(HAS_CUBLASLT_SCALES)
// A plan for one product: what cublasLtMatmul takes. cuBLASLt counts by columns, so our row-major
// matrices are its transposed ones, and its A is our B.
class CublasLtProduct {
 public:
  CublasLtProduct() = default;
  ~CublasLtProduct() {
    forget();
    if (handle_ != nullptr) cublasLtDestroy(handle_);
  }
  CublasLtProduct(const CublasLtProduct&) = delete;
  CublasLtProduct& operator=(const CublasLtProduct&) = delete;

  // Throws Skip where the library has no kernel.
  template <class ElementA>
  void multiply(const Product<ElementA>& x, Scaling scaling, bool fast, cudaStream_t stream) {
    const auto asked = std::make_tuple(x.m, x.n, x.k);
    if (asked != planned_) {
      plan(x, scaling, fast);
      planned_ = asked;
    }
    set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, x.scales_b);
    set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, x.scales_a);
    const float one = 1, zero = 0;
    check(cublasLtMatmul(handle_, operation_, &one, x.b, b_, x.a, a_, &zero, x.c, c_, x.c, c_,
                         &chosen_.algo, workspace_.get<unsigned char>(kWorkspaceBytes),
                         kWorkspaceBytes, stream),
          "cublasLtMatmul");
  }

 private:
  static constexpr std::size_t kWorkspaceBytes = 64 << 20;

  static void check(cublasStatus_t status, const char* call) {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    throw std::runtime_error(std::string(call) + ": status " + std::to_string(status));
  }
  template <class T>
  void set(cublasLtMatmulDescAttributes_t attribute, const T& value) {
    check(cublasLtMatmulDescSetAttribute(operation_, attribute, &value, sizeof value),
          "cublasLtMatmulDescSetAttribute");
  }
  void forget() {
    if (operation_ != nullptr) cublasLtMatmulDescDestroy(operation_);
    for (cublasLtMatrixLayout_t* layout : {&a_, &b_, &c_}) {
      if (*layout != nullptr) cublasLtMatrixLayoutDestroy(*layout);
      *layout = nullptr;
    }
    operation_ = nullptr;
  }

  template <class ElementA>
  void plan(const Product<ElementA>& x, Scaling scaling, bool fast) {
    planned_ = {};
    forget();
    // It takes some sizes of which its manual says that it does not: 4096 x 1 with a scale per row,
    // where all but two elements were wrong (13.0, on an H200).
    if (x.n % 8 != 0) throw kit::Skip("cuBLASLt: n % 8 must be 0");
    if (scaling == Scaling::blocks && x.m % 4 != 0) throw kit::Skip("cuBLASLt: m % 4 must be 0");
    if (handle_ == nullptr) check(cublasLtCreate(&handle_), "cublasLtCreate");
    check(cublasLtMatmulDescCreate(&operation_, CUBLAS_COMPUTE_32F, CUDA_R_32F),
          "cublasLtMatmulDescCreate");
    set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
    set(CUBLASLT_MATMUL_DESC_TRANSB, CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, static_cast<std::int8_t>(fast));
    auto mode_a = CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F, mode_b = mode_a;
    if (scaling == Scaling::rows) mode_a = mode_b = CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F;
    if (scaling == Scaling::blocks) {
      mode_a = CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F;
      mode_b = CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F;
    }
    set(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, mode_b);
    set(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, mode_a);
    set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, x.scales_b);
    set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, x.scales_a);
    const auto type_a = std::is_same_v<ElementA, __nv_fp8_e5m2> ? CUDA_R_8F_E5M2 : CUDA_R_8F_E4M3;
    const char* const call = "cublasLtMatrixLayoutCreate";
    check(cublasLtMatrixLayoutCreate(&b_, CUDA_R_8F_E4M3, x.k, x.n, x.k), call);
    check(cublasLtMatrixLayoutCreate(&a_, type_a, x.k, x.m, x.k), call);
    check(cublasLtMatrixLayoutCreate(&c_, CUDA_R_16BF, x.n, x.m, x.n), call);

    cublasLtMatmulPreference_t preference = nullptr;
    check(cublasLtMatmulPreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate");
    int found = 0;
    cublasStatus_t status =
        cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                             &kWorkspaceBytes, sizeof kWorkspaceBytes);
    if (status == CUBLAS_STATUS_SUCCESS) {
      status = cublasLtMatmulAlgoGetHeuristic(handle_, operation_, b_, a_, c_, c_, preference, 1,
                                              &chosen_, &found);
    }
    cublasLtMatmulPreferenceDestroy(preference);
    if (status != CUBLAS_STATUS_SUCCESS || found == 0) {
      throw kit::Skip("cuBLASLt has no kernel for these sizes");
    }
  }

  cublasLtHandle_t handle_ = nullptr;
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, c_ = nullptr;
  cublasLtMatmulHeuristicResult_t chosen_ = {};
  std::tuple<int, int, int> planned_ = {};
  kit::Workspace workspace_;
};
#endif

// cuBLASLt with the problem's scales. fast: sums stay in the tensor cores.
template <class Problem>
bench::Variant<Problem> cublaslt_peer(Sums sums) {
  const bool fast = sums == Sums::fast;
  const std::string name = fast ? "cublaslt_fast" : "cublaslt";
  const std::string idea = fast ? "cublasLtMatmul, sums kept in the tensor cores"
                                : "cublasLtMatmul, sums moved to fp32 on the way";
#if defined(HAS_CUBLASLT_SCALES)
  const auto library = std::make_shared<CublasLtProduct>();
  auto variant = bench::peer<Problem>(name, idea, [library, fast](Problem& p, cudaStream_t stream) {
    library->multiply(p.device_product(), Problem::scaling, fast, stream);
  });
  variant.needs = bench::needs_sm(89);
#else
  auto variant = bench::missing_peer<Problem>(
      name, idea, "needs cuBLASLt 12.9 or newer, which comes with the CUDA Toolkit");
#endif
  if (fast) variant.check = [](const Problem& p) { return p.check(Sums::fast); };
  return variant;
}

// Yardstick: B's bytes read, nothing done with them.
template <class Problem>
bench::Variant<Problem> read_only_yardstick() {
  auto variant = bench::device_variant<Problem>(
      "read_only", "yardstick: reads B and keeps nothing", [](Problem& p, cudaStream_t stream) {
        read_only(p.device_product().b, p.b.size(), p.c.device_data(), stream);
      });
  variant.kind = bench::Kind::yardstick;
  variant.bytes = [](const Problem& p) { return static_cast<double>(p.b.size()); };
  variant.flops = [](const Problem&) { return 0.0; };
  variant.check = [](const Problem&) { return bench::Comparison{}; };  // it has no result
  return variant;
}

}  // namespace matmul::fp8
