// The best rungs behind a C function, for programs in other languages. Built as a shared library by
// 07_flash_attention/pytorch/compare_pytorch.py, not by make:
//   nvcc -O3 -std=c++17 -I. -gencode arch=compute_90a,code=sm_90a -shared -Xcompiler -fPIC ...
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>

#include "07_flash_attention/attention_16bit/05_lazy_rescale.cuh"
#include "07_flash_attention/attention_16bit/chosen.cuh"
#include "07_flash_attention/shape.hpp"

namespace {

// What a library would take, on Hopper.
template <class T>
void chosen_on_hopper(const attention::Shape& shape, const attention::Tensors<T>& t,
                      cudaStream_t stream) {
  attention::chosen(shape, t, true, stream);
}

template <class T>
void run_rung(const std::string& rung, const attention::Shape& shape, const void* q, const void* k,
              const void* v, void* o, void* lse, void* stream) {
  const auto run = rung == "chosen"         ? chosen_on_hopper<T>
                   : rung == "lazy_rescale" ? attention::lazy_rescale<T>
                                            : nullptr;
  if (run == nullptr) throw std::runtime_error("no rung is called " + rung);
  run(shape,
      {static_cast<const T*>(q), static_cast<const T*>(k), static_cast<const T*>(v),
       static_cast<T*>(o), static_cast<float*>(lse)},
      static_cast<cudaStream_t>(stream));
}

}  // namespace

// O = softmax(Q K^T / sqrt(d)) V in bf16, or fp16 if is_fp16 is not 0, and the log-sum-exp of each
// row. rung: "chosen" or "lazy_rescale". Device pointers, dense: q, o [batch, heads, n_q,
// d]; k, v [batch, heads, n_k, d]; lse [batch, heads, n_q]; d = 64, 128 or 256; batch heads n_q <
// 2^31, n_q and n_k <= 2^22; causal = 0 or 1. Returns once the kernel is in the stream: 0, or 1
// after a line on stderr.
extern "C" int attention_forward(const char* rung, const void* q, const void* k, const void* v,
                                 void* o, void* lse, std::int64_t batch, std::int64_t heads,
                                 std::int64_t n_q, std::int64_t n_k, int d, int causal, int is_fp16,
                                 void* stream) {
  try {
    const attention::Shape shape{batch, heads, n_q, n_k, d, causal != 0};
    const auto run = is_fp16 != 0 ? run_rung<__half> : run_rung<__nv_bfloat16>;
    run(rung, shape, q, k, v, o, lse, stream);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "attention_forward: %s\n", error.what());
    return 1;
  }
}
