// The best rung behind a C function, for programs in other languages. Built as a shared library by
// 07_flash_attention/compare_pytorch.py, not by make:
//   nvcc -O3 -std=c++17 -I. -gencode arch=compute_90a,code=sm_90a -shared -Xcompiler -fPIC ...
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <exception>

#include "07_flash_attention/attention/13_persistent.cuh"
#include "07_flash_attention/attention/shape.hpp"

// O = softmax(Q K^T / sqrt(d)) V in bf16, and the log-sum-exp of each row. Device pointers, dense:
// q, o [batch, heads, n_q, d]; k, v [batch, heads, n_k, d]; lse [batch, heads, n_q]; d = 64, 128 or
// 256; batch heads n_q < 2^31, n_q and n_k <= 2^22; causal = 0 or 1. Returns once the kernel is in
// the stream: 0, or 1 after a line on stderr.
extern "C" int attention_forward(const void* q, const void* k, const void* v, void* o, void* lse,
                                 std::int64_t batch, std::int64_t heads, std::int64_t n_q,
                                 std::int64_t n_k, int d, int causal, void* stream) {
  using T = __nv_bfloat16;
  try {
    attention_persistent({batch, heads, n_q, n_k, d, causal != 0},
                         {static_cast<const T*>(q), static_cast<const T*>(k),
                          static_cast<const T*>(v), static_cast<T*>(o), static_cast<float*>(lse)},
                         static_cast<cudaStream_t>(stream));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "attention_forward: %s\n", error.what());
    return 1;
  }
}
