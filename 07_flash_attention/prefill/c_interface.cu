// The rungs of prefill for Hopper behind a C function, for programs in other languages. Built as a
// shared library by 07_flash_attention/pytorch/compare_prefill.py, not by make:
//   nvcc -O3 -std=c++17 -I. -gencode arch=compute_90a,code=sm_90a -shared -Xcompiler -fPIC ...
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>

#include "07_flash_attention/prefill/04_per_sequence.cuh"
#include "07_flash_attention/prefill/05_packed.cuh"
#include "07_flash_attention/prefill/06_windowed.cuh"
#include "07_flash_attention/prefill/07_grouped.cuh"
#include "07_flash_attention/prefill/08_early_scores.cuh"
#include "07_flash_attention/prefill/chosen.cuh"
#include "07_flash_attention/prefill/shape.hpp"
#include "common/kit/workspace.cuh"

namespace {

void run_rung(const std::string& rung, const prefill::Shape& shape,
              const prefill::Tensors<__nv_bfloat16>& t, const prefill::Starts& starts,
              cudaStream_t stream) {
  static const kit::Workspace workspace;  // kept from call to call; one stream at a time
  if (rung == "early_scores") return prefill::early_scores(shape, t, starts, workspace, stream);
  if (rung == "grouped") return prefill::grouped(shape, t, starts, workspace, stream);
  if (rung == "windowed") return prefill::windowed(shape, t, starts, workspace, stream);
  if (rung == "packed") return prefill::packed(shape, t, starts, workspace, stream);
  if (rung == "per_sequence") return prefill::per_sequence(shape, t, starts, stream);
  if (rung == "chosen") return void(prefill::chosen(shape, t, starts, true, workspace, stream));
  throw std::runtime_error("no rung is called " + rung);
}

}  // namespace

// O = softmax(Q K^T / sqrt(d)) V in bf16 and the log-sum-exp, for sequences of different lengths.
// rung: "packed", "windowed", "grouped", "early_scores", "chosen" or "per_sequence". Device
// pointers, dense: q, o
// [q_tokens, heads, d]; k, v [k_tokens, kv_heads, d]; lse [heads, q_tokens]; d = 64, 128 or 256;
// starts_q, starts_k [batch + 1]: where the sequences begin, and after the last one the number of
// all tokens (for per_sequence in host memory). longest: queries of the longest sequence. causal =
// 0 or 1: a query sees no key after its own, and the last query's own is the last key. window: how
// many keys up to its own it sees, 0 for all. Returns once the kernels are in the stream: 0, or 1
// after a line on stderr.
extern "C" int attention_prefill(const char* rung, const void* q, const void* k, const void* v,
                                 void* o, void* lse, const void* starts_q, const void* starts_k,
                                 int batch, int heads, int kv_heads, int q_tokens, int k_tokens,
                                 int longest, int d, int causal, int window, void* stream) {
  using T = __nv_bfloat16;
  try {
    const prefill::Shape shape{batch,   heads, kv_heads,    q_tokens, k_tokens,
                               longest, d,     causal != 0, window};
    run_rung(rung, shape,
             {static_cast<const T*>(q), static_cast<const T*>(k), static_cast<const T*>(v),
              static_cast<T*>(o), static_cast<float*>(lse)},
             {static_cast<const int*>(starts_q), static_cast<const int*>(starts_k)},
             static_cast<cudaStream_t>(stream));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "attention_prefill: %s\n", error.what());
    return 1;
  }
}
