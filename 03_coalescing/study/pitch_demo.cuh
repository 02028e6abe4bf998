// --demo pitch: cudaMallocPitch, and where element (r, c) lies.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>

#include "common/kit/check.cuh"

namespace transpose {

// Element (r, c) of a matrix whose rows begin `pitch` bytes apart. The pitch is in bytes, so it is
// added to a pointer to bytes; only then do elements count.
template <class T>
__host__ __device__ T* pitched_element(T* base, std::size_t pitch, std::int64_t r, std::int64_t c) {
  char* row = reinterpret_cast<char*>(base) + r * pitch;
  return reinterpret_cast<T*>(row) + c;
}

// A rows x cols matrix with aligned rows; freed with the object.
class PitchedMatrix {
 public:
  PitchedMatrix(std::int64_t rows, std::int64_t cols) {
    CUDA_CHECK(cudaMallocPitch(&base_, &pitch_, cols * sizeof(float), rows));
  }
  ~PitchedMatrix() { cudaFree(base_); }
  PitchedMatrix(const PitchedMatrix&) = delete;
  PitchedMatrix& operator=(const PitchedMatrix&) = delete;

  float* base() const { return base_; }
  std::size_t pitch() const { return pitch_; }  // bytes from row to row

 private:
  float* base_ = nullptr;
  std::size_t pitch_ = 0;
};

inline void pitch_demo() {
  constexpr std::int64_t kRows = 64;
  std::printf(
      "cudaMallocPitch, %d rows of floats; element (r, c) lies at base + r * pitch + 4 * c\n",
      static_cast<int>(kRows));
  std::printf("%10s %16s %10s %22s\n", "cols", "row in bytes", "pitch", "row 1 begins, mod 32");
  for (const std::int64_t cols : {1, 33, 1000, 8191, 8192, 8193}) {
    const PitchedMatrix matrix(kRows, cols);
    const std::int64_t row_bytes = cols * sizeof(float);
    std::printf("%10lld %16lld %10zu %10lld, dense: %3lld\n", static_cast<long long>(cols),
                static_cast<long long>(row_bytes), matrix.pitch(),
                static_cast<long long>(matrix.pitch() % 32),
                static_cast<long long>(row_bytes % 32));
  }
}

}  // namespace transpose
