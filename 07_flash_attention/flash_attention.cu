// Chapter 07, flash attention: O = softmax(Q K^T / sqrt(d)) V, from softmax alone to tensor cores.
//
// Build without make, for Hopper (otherwise -arch=native):
//   nvcc -O3 -std=c++17 -arch=sm_90a -I. -Xcompiler -fopenmp 07_flash_attention/*.cu -lcublas
// Each folder is a problem; its variants.cuh lists the ways to solve it. The lesson is README.md.
#include <cstdint>
#include <string>

#include "07_flash_attention/attention/report.cuh"
#include "07_flash_attention/attention/sweeps.cuh"
#include "07_flash_attention/attention/variants.cuh"
#include "07_flash_attention/softmax/report.cuh"
#include "07_flash_attention/softmax/sweeps.cuh"
#include "07_flash_attention/softmax/variants.cuh"
#include "common/harness.cuh"
#include "common/program.cuh"

namespace {

// Of a hundred million scores the largest is 6 to 7 times the standard deviation: half of 65504.
constexpr std::int64_t kMostFp16Spread = 5000;

struct Options {
  std::int64_t batch = 0, heads = 0, n = 0, n_k = 0, tokens = 0;  // 0: not given
  std::int64_t spread = 1, rows = 0, columns = 0;
  std::string d, sweep;
  bool causal = false, slow = false;
};

void add_options(common::Program& program, Options& options) {
  auto& parser = program.options();
  parser.add_integer("batch", "sequences", &options.batch, 1, 1 << 20);
  parser.add_integer("heads", "heads of a sequence", &options.heads, 1, 1 << 20);
  parser.add_integer("n", "queries of a sequence, and keys", &options.n, 1,
                     AttentionShape::kMostLength);
  parser.add_integer("nk", "keys, if not as many as queries", &options.n_k, 1,
                     AttentionShape::kMostLength);
  parser.add_choice("d", {"64", "128", "256"}, "elements of a query, a key, a value", &options.d);
  parser.add_flag("causal", "query i sees no key after its own", [&] { options.causal = true; });
  parser.add_integer("tokens", "sets batch to tokens / n, and heads to 2048 / d", &options.tokens,
                     1, 1 << 30);
  parser.add_integer("spread", "standard deviation of the scores (default 1, fp16: at most 5000)",
                     &options.spread, 1, 1'000'000);
  parser.add_integer("rows", "of the softmax alone", &options.rows, 1, INT32_MAX);
  parser.add_integer("columns", "of the softmax alone", &options.columns, 1, Softmax::kMostColumns);
  parser.add_choice("sweep", {"columns", "n"},
                    "softmax by length of the rows, attention by length of the sequences",
                    &options.sweep);
  parser.add_flag("slow", "run slow rungs at any size", [&] { options.slow = true; });
}

// `or_else` wherever nothing was asked for.
AttentionShape shape_of(const Options& options, const AttentionShape& or_else) {
  AttentionShape shape = or_else;
  if (options.n > 0) shape.n_q = shape.n_k = options.n;
  if (options.n_k > 0) shape.n_k = options.n_k;
  if (!options.d.empty()) shape.d = std::stoi(options.d);
  shape.causal = options.causal;
  if (options.tokens > 0) {
    if (options.tokens % shape.n_q != 0) {
      throw common::UsageError("--tokens: " + std::to_string(options.tokens) +
                               " is not a multiple of n = " + std::to_string(shape.n_q));
    }
    shape.batch = options.tokens / shape.n_q;
    shape.heads = 2048 / shape.d;
  }
  if (options.batch > 0) shape.batch = options.batch;
  if (options.heads > 0) shape.heads = options.heads;
  // The naive rung starts a block for each row, and blocks are counted in 31 bits.
  if (shape.rows() > INT32_MAX) throw common::UsageError("batch x heads x n is too large");
  return shape;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  common::Program program("07_flash_attention",
                          "O = softmax(Q K^T / sqrt(d)) V, from softmax alone to tensor cores");
  add_options(program, options);

  return program.main(argc, argv, [&](common::Program& frame) {
    const auto softmax = frame.select(Softmax::name, softmax_variants());
    const auto attention = frame.select(AttentionFp32::name, attention_variants());
    const auto attention_bf16 =
        frame.select(AttentionBf16::name, attention_16bit_variants<__nv_bfloat16>());
    const auto attention_fp16 =
        frame.select(AttentionFp16::name, attention_16bit_variants<__half>());
    if (!frame.selection_done()) return;

    // Without a clock the kernels run on the CPU.
    const bool real = frame.device().keeps_time();
    if (!attention_fp16.empty() && options.spread > kMostFp16Spread) {
      throw common::UsageError("--spread: fp16 ends at 65504: at most " +
                               std::to_string(kMostFp16Spread) +
                               " (--only attention,attention_bf16 leaves fp16 out)");
    }
    const std::int64_t rows = options.rows > 0 ? options.rows : real ? 512 : 16;
    const std::int64_t columns = options.columns > 0 ? options.columns : real ? 1 << 18 : 10'000;
    const AttentionShape small{1, 2, 250, 250, 64, false};
    const AttentionShape fp32 =
        shape_of(options, real ? AttentionShape{1, 16, 2048, 2048, 64, false} : small);
    const AttentionShape sixteen_bit =
        shape_of(options, real ? AttentionShape{4, 16, 4096, 4096, 128, false} : small);
    if (options.sweep == "columns") {
      frame.print_machine();
      sweep_columns(frame);
      return;
    }
    if (options.sweep == "n") {
      frame.print_machine();
      sweep_n(frame, options.d.empty() ? fp32.d : std::stoi(options.d), options.causal, attention);
      const int d = options.d.empty() ? sixteen_bit.d : std::stoi(options.d);
      sweep_n(frame, d, options.causal, attention_bf16);
      sweep_n(frame, d, options.causal, attention_fp16);
      return;
    }
    if (!softmax.empty()) {
      frame.require_memory(Softmax::host_bytes(rows, columns),
                           Softmax::device_bytes(rows, columns));
    }
    if (!attention.empty()) {
      frame.require_memory(AttentionFp32::host_bytes(fp32), AttentionFp32::device_bytes(fp32));
    }
    if (!attention_bf16.empty() || !attention_fp16.empty()) {
      frame.require_memory(AttentionBf16::host_bytes(sixteen_bit),
                           AttentionBf16::device_bytes(sixteen_bit));
    }
    frame.print_machine();

    if (!softmax.empty()) run_softmax(frame, rows, columns, softmax);
    const double spread = static_cast<double>(options.spread);
    if (!attention.empty()) {
      AttentionFp32 problem(fp32, frame.seed(), spread, real, options.slow);
      run_attention(frame, problem, attention);
    }
    if (!attention_bf16.empty()) {
      AttentionBf16 problem(sixteen_bit, frame.seed(), spread, real, options.slow);
      run_attention(frame, problem, attention_bf16);
    }
    if (!attention_fp16.empty()) {
      AttentionFp16 problem(sixteen_bit, frame.seed(), spread, real, options.slow);
      run_attention(frame, problem, attention_fp16);
    }
  });
}
