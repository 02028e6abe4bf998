// The best rungs of the backward pass behind C functions, for programs in other languages. Built as
// a shared library by 07_flash_attention/pytorch/compare_pytorch.py, not by make:
//   nvcc -O3 -std=c++17 -I. -gencode arch=compute_90a,code=sm_90a -shared -Xcompiler -fPIC ...
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>

#include "07_flash_attention/backward/08_mma.cuh"
#include "07_flash_attention/backward/beyond/01_square_tiles.cuh"
#include "07_flash_attention/backward/beyond/04_paired.cuh"
#include "07_flash_attention/backward/beyond/07_paired_in_order.cuh"
#include "07_flash_attention/backward/beyond/13_errands.cuh"
#include "07_flash_attention/backward/beyond/14_persistent_in_order.cuh"
#include "07_flash_attention/backward/kit/row_stats.cuh"
#include "07_flash_attention/backward/shape.hpp"
#include "07_flash_attention/shape.hpp"

namespace {

template <class T>
struct Rung {
  void (*run)(const backward::Shape&, const backward::Tensors<T>&, float*, cudaStream_t);
  std::int64_t (*scratch_floats)(const backward::Shape&);
};

template <class T, int kD>
Rung<T> rung_of(const std::string& name) {
  if (name == "mma") return {backward::mma<T, kD>, backward::row_stats_and_dq_scratch};
  if (name == "square_tiles") {
    return {backward::square_tiles<T, kD>, backward::row_stats_and_dq_scratch};
  }
  if constexpr (kD == 256) {
    if (name == "chosen") return {backward::paired<T, kD>, backward::row_stats_and_dq_scratch};
    if (name == "in_order") {
      return {backward::paired_in_order<T, kD>, backward::paired_in_order_scratch};
    }
  } else {
    if (name == "chosen") return {backward::errands<T, kD>, backward::errands_scratch};
    if (name == "in_order") {
      return {backward::persistent_in_order<T, kD>, backward::persistent_in_order_scratch};
    }
  }
  throw std::runtime_error("no rung is called " + name);
}

template <class T>
void run_rung(const std::string& name, const backward::Shape& shape, const void* q, const void* k,
              const void* v, const void* o, const void* d_o, const void* lse, void* dq, void* dk,
              void* dv, void* scratch, void* stream) {
  const backward::Tensors<T> tensors{
      static_cast<const T*>(q), static_cast<const T*>(k),   static_cast<const T*>(v),
      static_cast<const T*>(o), static_cast<const T*>(d_o), static_cast<const float*>(lse),
      static_cast<T*>(dq),      static_cast<T*>(dk),        static_cast<T*>(dv)};
  attention::with_head_dim(shape.d, [&](auto d) {
    rung_of<T, d>(name).run(shape, tensors, static_cast<float*>(scratch),
                            static_cast<cudaStream_t>(stream));
  });
}

}  // namespace

// Bytes of scratch memory that attention_backward wants; -1 after a line on stderr.
extern "C" std::int64_t attention_backward_scratch(const char* rung, std::int64_t batch,
                                                   std::int64_t heads, std::int64_t kv_heads,
                                                   int n_q, int n_k, int d) {
  try {
    const backward::Shape shape{batch, heads, kv_heads, n_q, n_k, d, false};
    std::int64_t floats = 0;
    attention::with_head_dim(d, [&](auto of_d) {
      floats = rung_of<__half, of_d>(rung).scratch_floats(shape);  // the same in bf16
    });
    return 4 * floats;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "attention_backward_scratch: %s\n", error.what());
    return -1;
  }
}

// dQ, dK and dV of attention in bf16, or fp16 if is_fp16 is not 0. rung: "chosen", which is
// errands or, at d = 256, paired; "in_order", which leaves the same bits in each run and is
// persistent_in_order or, at d = 256, paired_in_order; "mma" or "square_tiles". Device pointers,
// dense and aligned to 16 bytes: q, o, d_o, dq [batch, heads, n_q, d]; k, v, dk, dv [batch,
// kv_heads, n_k, d], where heads is a multiple of kv_heads; lse [batch, heads, n_q], natural
// logarithms, as attention_forward leaves them; d = 64, 128 or 256; n_q and n_k <= 2^22; causal = 0
// or 1. Returns once the kernels are in the stream: 0, or 1 after a line on stderr.
extern "C" int attention_backward(const char* rung, const void* q, const void* k, const void* v,
                                  const void* o, const void* d_o, const void* lse, void* dq,
                                  void* dk, void* dv, void* scratch, std::int64_t batch,
                                  std::int64_t heads, std::int64_t kv_heads, int n_q, int n_k,
                                  int d, int causal, int is_fp16, void* stream) {
  try {
    const backward::Shape shape{batch, heads, kv_heads, n_q, n_k, d, causal != 0};
    const auto run = is_fp16 != 0 ? run_rung<__half> : run_rung<__nv_bfloat16>;
    run(rung, shape, q, k, v, o, d_o, lse, dq, dk, dv, scratch, stream);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "attention_backward: %s\n", error.what());
    return 1;
  }
}
