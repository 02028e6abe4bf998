// The library's transpose: cublasSgeam, C = alpha op(A) + beta op(B), with beta = 0.
#pragma once

#include <cuda_runtime.h>

#include <climits>
#include <memory>
#include <stdexcept>
#include <string>

#include "03_coalescing/transpose/problem.cuh"
#include "common/variant.cuh"

#if __has_include(<cublas_v2.h>)
#include <cublas_v2.h>

// A cuBLAS handle that destroys itself. Throws std::runtime_error.
class CublasHandle {
 public:
  CublasHandle() { check(cublasCreate(&handle_), "cublasCreate"); }
  ~CublasHandle() { cublasDestroy(handle_); }
  CublasHandle(const CublasHandle&) = delete;
  CublasHandle& operator=(const CublasHandle&) = delete;

  cublasHandle_t get() const { return handle_; }

  static void check(cublasStatus_t status, const char* call) {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    throw std::runtime_error(std::string(call) + ": " + cublasGetStatusString(status));
  }

 private:
  cublasHandle_t handle_ = nullptr;
};
#endif

inline common::Variant<Transpose> transpose_peer() {
  common::Variant<Transpose> peer;
  peer.name = "cublas_sgeam";
  peer.idea = "peer: cublasSgeam";
  peer.place = common::Place::device;
  peer.kind = common::Kind::peer;
#if __has_include(<cublas_v2.h>)
  const auto handle = std::make_shared<std::unique_ptr<CublasHandle>>();
  peer.run = [handle](Transpose& p, cudaStream_t stream) -> common::Phases {
    if (p.rows > INT_MAX || p.cols > INT_MAX) throw common::Skip("its sizes are of type int");
    if (*handle == nullptr) *handle = std::make_unique<CublasHandle>();
    CublasHandle::check(cublasSetStream((*handle)->get(), stream), "cublasSetStream");
    // cuBLAS counts by columns: our rows x cols matrix is its cols x rows matrix with leading
    // dimension cols, and our output is its rows x cols matrix. B is not read when beta is 0.
    const int rows = static_cast<int>(p.rows), cols = static_cast<int>(p.cols);
    const float one = 1, zero = 0;
    CublasHandle::check(
        cublasSgeam((*handle)->get(), CUBLAS_OP_T, CUBLAS_OP_N, rows, cols, &one, p.in.on_device(),
                    cols, &zero, p.out.on_device(), rows, p.out.on_device(), rows),
        "cublasSgeam");
    return {};
  };
#else
  peer.needs.missing = "needs cuBLAS, which comes with the CUDA Toolkit";
#endif
  return peer;
}
