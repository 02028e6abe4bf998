// The two numbers of every problem, counted by hand: the bytes that must move, and the operations.
// Every GB/s, TFLOP/s and percent of a peak is a time and one of these.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <string>

#include "01_vector_add/problem.cuh"
#include "02_warp_divergence/branch/problem.cuh"
#include "02_warp_divergence/polar/problem.cuh"
#include "03_coalescing/copy/problem.cuh"
#include "03_coalescing/latency/problem.cuh"
#include "03_coalescing/particles/problem.cuh"
#include "03_coalescing/transpose/problem.cuh"
#include "03_coalescing/window/problem.cuh"
#include "04_matmul/bf16/problem.cuh"
#include "04_matmul/fp8/problem.cuh"
#include "04_matmul/quantize/problem.cuh"
#include "04_matmul/sgemm/problem.cuh"
#include "05_reduction/affine/problem.cuh"
#include "05_reduction/scan/problem.cuh"
#include "05_reduction/sum/problem.cuh"
#include "06_atomics_streams/default_stream/problem.cuh"
#include "06_atomics_streams/float_max/problem.cuh"
#include "06_atomics_streams/histogram/problem.cuh"
#include "06_atomics_streams/lock/problem.cuh"
#include "06_atomics_streams/one_cell/problem.cuh"
#include "06_atomics_streams/pi/problem.cuh"
#include "06_atomics_streams/pipeline/problem.cuh"
#include "06_atomics_streams/small_kernels/problem.cuh"
#include "07_flash_attention/attention_fp8/problem.cuh"
#include "07_flash_attention/backward/problem.cuh"
#include "07_flash_attention/decode/problem.cuh"
#include "07_flash_attention/prefill/problem.cuh"
#include "07_flash_attention/problem.cuh"
#include "07_flash_attention/softmax/problem.cuh"
#include "common/bench/device_facts.cuh"
#include "tests/catch.hpp"

namespace {

template <class Problem>
void counts(const std::string& what, const Problem& problem, double bytes, double flops) {
  INFO(what);
  CHECK(problem.bytes() == bytes);
  CHECK(problem.flops() == flops);
}

using Bf16 = __nv_bfloat16;

}  // namespace

TEST_CASE("bytes and operations of every problem are those counted by hand") {
  // Seven of whatever, each of four bytes where nothing else is said.
  counts("vector_add: x and y in, y out", vector_add::VectorAdd(7, 1), 84, 7);
  counts("polar: an angle in, two coordinates out", polar::Polar(7, 1), 84, 0);
  counts("branch: a multiply-add each", branch::Branch(7, 0, 1, 1), 56, 14);
  counts("branch: 256 of them each", branch::Branch(7, 100, 1, 1), 56, 3584);
  counts("copy: in and out", coalesced_copy::Copy(7, 1), 56, 0);
  counts("particles: six in, three out", particles::Particles(7, 1), 252, 42);
  counts("transpose: 3 x 5 in and out", transpose::Transpose(3, 5, 1), 120, 0);
  counts("window: in and out, 2 + 1 + 2 multiply-adds", window::Window(7, 2, 1), 56, 70);
  counts("latency: one load after the other", latency::Latency(bench::query_device(), 1), 0, 0);

  // 3 x 5 times 5 x 2: 15, 10 and 6 elements, 30 multiply-adds.
  const matmul::Shape product{3, 2, 5};
  counts("sgemm", matmul::sgemm::Sgemm(product, 1), 124, 60);
  counts("bf16_gemm", matmul::bf16::Bf16Gemm<false>(product, 1), 62, 60);
  counts("bf16_gemm_nt", matmul::bf16::Bf16Gemm<true>(product, 1), 62, 60);
  // 3 x 16 times 16 x 2: 48 and 32 bytes in, 12 out, 96 multiply-adds; scales, 4 bytes each: 1 and
  // 1; 3 and 2; one block of k, 4 and 4 with what fills them up.
  using matmul::fp8::Fp8Gemm, matmul::Scaling;
  const matmul::Shape small{3, 2, 16};
  counts("fp8_gemm", Fp8Gemm<Scaling::tensor>(small, 1), 100, 192);
  counts("fp8_gemm_rows", Fp8Gemm<Scaling::rows>(small, 1), 112, 192);
  counts("fp8_gemm_blocks", Fp8Gemm<Scaling::blocks>(small, 1), 124, 192);
  // 3 x 144: 432 elements of two bytes in and of one out; 1, 3 or 2 x 3 scales of four bytes.
  using matmul::quantize::Quantize;
  counts("quantize_tensor", Quantize<Scaling::tensor>(3, 144, 1), 1300, 0);
  counts("quantize_rows", Quantize<Scaling::rows>(3, 144, 1), 1308, 0);
  counts("quantize_blocks", Quantize<Scaling::blocks>(3, 144, 1), 1320, 0);

  counts("sum", reduction::Sum(7, 1), 28, 7);
  counts("max", reduction::Reduction<reduction::Max>(7, 1), 28, 7);
  counts("argmax", reduction::Reduction<reduction::ArgMax>(7, 1), 28, 7);
  counts("affine: two numbers each", affine::Affine(7, 1), 56, 0);
  counts("scan: in and out", scan::Scan(7, 1), 56, 7);

  counts("one_cell: two bytes each", one_cell::OneCell(7, 1), 14, 0);
  counts("histogram: a byte each", histogram::Histogram(7, 1, histogram::HistogramInput{}), 7, 0);
  counts("float_max", float_max::FloatMax(7, 1), 28, 0);
  counts("lock", lock::Lock(7, 1), 28, 0);
  counts("pipeline: in and out", pipeline::Pipeline(7, 1, 1, 1), 56, 0);
  counts("default_stream", default_stream::DefaultStream(1), 0, 0);
  counts("small_kernels", small_kernels::SmallKernels(1, 1), 0, 0);
  counts("pi", pi::Pi(7, 1), 0, 0);

  counts("softmax: 3 x 5 in and out", softmax::Softmax(3, 5, 1), 120, 0);
  // Two sequences of three heads: 6 heads of 5 queries and 7 keys, 64 numbers each. Q and O have
  // 1,920 numbers each, K and V 2,688, the log-sum-exp 30 of four bytes; 210 pairs of a query and a
  // key, each in two products of 64 multiply-adds.
  const attention::Shape forward{2, 3, 5, 7, 64, false};
  counts("attention", attention::Problem<float>(forward, 1), 36984, 53760);
  counts("attention_bf16", attention::Problem<Bf16>(forward, 1), 18552, 53760);
  counts("attention_fp16", attention::Problem<__half>(forward, 1), 18552, 53760);
  // With 128 numbers each: Q, K and V of a byte, O of two, three scales of a head of four.
  const attention::Shape wide{2, 3, 5, 7, 128, false};
  counts("attention_fp8", attention::fp8::AttentionFp8(wide, 1), 22464, 107520);
  // With a mask half of 8 x 8 pairs count; of 4 x 6 the first 4 x 2 and half of 4 x 4.
  counts("causal", attention::Problem<Bf16>({1, 1, 8, 8, 64, true}, 1), 4128, 8192);
  counts("causal, long", attention::Problem<Bf16>({1, 1, 4, 6, 64, true}, 1), 2576, 4096);

  // Two sequences of six heads, three K/V heads: Q, O, dO, dQ of 12 heads, K, V, dK, dV of 6; five
  // products of 64 multiply-adds for each of 420 pairs.
  const backward::Shape back{2, 6, 3, 5, 7, 64, false};
  counts("backward", backward::Backward<float>(back, 1, false), 104688, 268800);
  counts("backward_bf16", backward::Backward<Bf16>(back, 1, false), 52464, 268800);
  counts("backward_fp16", backward::Backward<__half>(back, 1, false), 52464, 268800);
  const backward::Shape masked{1, 1, 1, 8, 8, 64, true};
  counts("backward, causal", backward::Backward<Bf16>(masked, 1, false), 8224, 20480);

  // Sequences of 3 and 4 queries and 3 and 6 keys, 4 heads, 2 K/V heads: Q and O have 1,792 numbers
  // each, K and V 1,152, the log-sum-exp 28. Under a mask queries see 1, 2, 3 and 3, 4, 5, 6 keys:
  // 24 pairs of each head; in a window of two 5 and 8.
  const auto prompts = [](bool causal, int window) {
    return prefill::Prefill({0, 4, 2, 0, 0, 0, 64, causal, window}, {{3, 4}, {3, 6}}, 1, true,
                            false);
  };
  counts("prefill", prompts(false, 0), 11888, 33792);
  counts("prefill, causal", prompts(true, 0), 11888, 24576);
  counts("prefill, window", prompts(true, 2), 11888, 13312);

  // Two sequences of 10 tokens, 8 heads, 2 K/V heads: K and V have 2,560 numbers each, Q and O
  // 1,024 each, the log-sum-exp 16; two products of 64 multiply-adds for 160 pairs.
  const decode::Shape step{2, 8, 2, 10, 64};
  counts("decode_bf16", decode::Decode<Bf16>(step, {}, 1, false), 14400, 40960);
  counts("decode_fp16", decode::Decode<__half>(step, {}, 1, false), 14400, 40960);
  decode::Layout window;
  window.page = 4, window.window = 3;  // of the last 3 tokens alone
  counts("decode_paged_bf16", decode::Decode<Bf16>(step, window, 1, false), 7232, 12288);
}
