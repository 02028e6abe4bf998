// The best rungs of decoding behind a C function, for programs in other languages. Built as a
// shared library by 07_flash_attention/pytorch/compare_decode.py, not by make:
//   nvcc -O3 -std=c++17 -I. -gencode arch=compute_90a,code=sm_90a -shared -Xcompiler -fPIC ...
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>

#include "07_flash_attention/decode/10_tensor.cuh"
#include "07_flash_attention/decode/11_cluster_merges.cuh"
#include "07_flash_attention/decode/12_persistent.cuh"
#include "07_flash_attention/decode/13_paged.cuh"
#include "07_flash_attention/decode/14_work_list.cuh"
#include "07_flash_attention/decode/beyond/01_programmatic_launch.cuh"
#include "07_flash_attention/decode/beyond/02_early_lookups.cuh"
#include "07_flash_attention/decode/chosen.cuh"
#include "07_flash_attention/decode/kit/chunks.cuh"
#include "07_flash_attention/decode/shape.hpp"
#include "common/kit/check.cuh"
#include "common/kit/device_buffer.cuh"

namespace {

// Kept from call to call, and only ever larger: a call that is recorded into a graph must not be
// the first of its shape. One stream at a time.
decode::Scratch scratch_of_library() {
  static kit::DeviceBuffer<float> floats;
  static kit::DeviceBuffer<unsigned> tickets;
  return {[](std::int64_t count) {
            if (floats.size() < count) floats = kit::DeviceBuffer<float>(count);
            return floats.data();
          },
          [](std::int64_t count) {
            if (tickets.size() < count) {
              tickets = kit::DeviceBuffer<unsigned>(count);
              CUDA_CHECK(cudaMemset(tickets.data(), 0, tickets.bytes()));
              CUDA_CHECK(cudaDeviceSynchronize());
            }
            return tickets.data();
          }};
}

template <class T>
void run_rung(const std::string& rung, const decode::Shape& shape, const void* q, const void* k,
              const void* v, void* o, void* lse, const decode::Cache& cache, void* stream_handle) {
  const decode::Tensors<T> t{static_cast<const T*>(q), static_cast<const T*>(k),
                             static_cast<const T*>(v), static_cast<T*>(o),
                             static_cast<float*>(lse)};
  const decode::Scratch scratch = scratch_of_library();
  const auto stream = static_cast<cudaStream_t>(stream_handle);
  if (rung == "paged") return decode::paged(shape, t, cache, scratch, stream);
  if (rung == "work_list") return decode::work_list(shape, t, cache, scratch, stream);
  if (rung == "early_lookups") return decode::early_lookups(shape, t, cache, scratch, stream);
  if (rung == "tensor") return decode::tensor(shape, t, scratch, stream);
  if (rung == "cluster_merges") return decode::cluster_merges(shape, t, stream);
  if (rung == "persistent") return decode::persistent(shape, t, stream);
  if (rung == "programmatic_launch") {
    return decode::programmatic_launch(shape, t, scratch, stream);
  }
  if (rung == "chosen") return void(decode::chosen(shape, t, 90, scratch, stream));
  throw std::runtime_error("no rung is called " + rung);
}

}  // namespace

// One step of decoding in bf16, or fp16 if is_fp16 is not 0: O = softmax(q K^T / sqrt(d)) V and the
// log-sum-exp. rung: "tensor", "cluster_merges", "persistent", "programmatic_launch" or "chosen",
// and for caches in pages "paged", "work_list" or "early_lookups" (lengths and table could be seen
// before the launch ahead began). Device pointers, dense: q, o [batch, heads, d]; lse [batch,
// heads]; d = 64, 128 or 256. k, v: [batch, kv_heads, n, d], or in pages [pages, kv_heads, page,
// d], of which lengths [batch] and table [batch, pages_each] say what is where, and of which the
// newest `window` tokens count; n is then the longest length, and without pages these four are not
// looked at. Returns once the kernels are in the stream: 0, or 1 after a line on stderr.
extern "C" int attention_decode(const char* rung, const void* q, const void* k, const void* v,
                                void* o, void* lse, std::int64_t batch, std::int64_t heads,
                                std::int64_t kv_heads, int n, int d, const int* lengths,
                                const int* table, int page, int pages_each, int window, int is_fp16,
                                void* stream) {
  try {
    const decode::Shape shape{batch, heads, kv_heads, n, d};
    const decode::Cache cache{lengths, table, page, pages_each, window};
    const auto run = is_fp16 != 0 ? run_rung<__half> : run_rung<__nv_bfloat16>;
    run(rung, shape, q, k, v, o, lse, cache, stream);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "attention_decode: %s\n", error.what());
    return 1;
  }
}
