// The ladder's end behind a C function, for programs in other languages. Built as a shared library
// by 04_matmul/compare_product.py, not by make:
//   nvcc -O3 -std=c++17 -I. -gencode arch=compute_90a,code=sm_90a -shared -Xcompiler -fPIC ...
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <exception>

#include "04_matmul/bf16/beyond/05_stream_k.cuh"
#include "04_matmul/bf16/chosen.cuh"

// Bytes of `scratch`, below, for these sizes: enough for copies of A and of B.
extern "C" std::int64_t bf16_gemm_scratch(int m, int n, int k) {
  const matmul::Operands nothing_tight = {{nullptr, 1}, {nullptr, 1}, {nullptr, 1}};
  return matmul::bf16::scratch_bytes<false>(nothing_tight, m, n, k);
}

// C = A B by the rung that `chosen` takes, in bf16 with sums in fp32. Device pointers, dense and
// row-major: a [m, k], b [k, n], c [m, n]; scratch, aligned to 16 bytes, is
// this launch's until it has ended. Returns
// once the kernel is in the stream: 0, or 1 after a line on stderr.
extern "C" int bf16_gemm(const void* a, const void* b, void* c, void* scratch, int m, int n, int k,
                         void* stream) {
  try {
    using matmul::dense;
    matmul::bf16::multiply_by_choice<false>(
        dense<false>(static_cast<const __nv_bfloat16*>(a), static_cast<const __nv_bfloat16*>(b),
                     static_cast<__nv_bfloat16*>(c), n, k),
        m, n, k, scratch, static_cast<cudaStream_t>(stream));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bf16_gemm: %s\n", error.what());
    return 1;
  }
}
