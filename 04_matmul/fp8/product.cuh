// What a product in fp8 reads and writes.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp8.h>

namespace matmul::fp8 {

// C = A B', C in bf16, m x n. A is m x k, B is n x k: both with k along their rows, as the tensor
// cores take 8-bit elements. All are dense and row-major, on the host or on the device; k is a
// multiple of 16. ElementA: __nv_fp8_e4m3 or __nv_fp8_e5m2.
template <class ElementA = __nv_fp8_e4m3>
struct Product {
  const ElementA* a;
  const __nv_fp8_e4m3* b;
  const float *scales_a, *scales_b;
  __nv_bfloat16* c;
  int m, n, k;
};

}  // namespace matmul::fp8
