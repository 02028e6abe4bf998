// A cuBLAS handle that is made at first use and destroys itself. Include it only where
// __has_include(<cublas_v2.h>).
#pragma once

#include <cublas_v2.h>

#include <stdexcept>
#include <string>

namespace bench {

class CublasHandle {
 public:
  CublasHandle() = default;
  ~CublasHandle() {
    if (handle_ != nullptr) cublasDestroy(handle_);
  }
  CublasHandle(const CublasHandle&) = delete;
  CublasHandle& operator=(const CublasHandle&) = delete;

  // Throws std::runtime_error.
  cublasHandle_t get() {
    if (handle_ == nullptr) check(cublasCreate(&handle_), "cublasCreate");
    return handle_;
  }

  static void check(cublasStatus_t status, const char* call) {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    throw std::runtime_error(std::string(call) + ": " + cublasGetStatusString(status));
  }

 private:
  cublasHandle_t handle_ = nullptr;
};

}  // namespace bench
