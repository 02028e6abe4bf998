// What a reader may set about attention, and the shape that it makes.
#pragma once

#include <cuda_fp16.h>

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "07_flash_attention/problem.cuh"
#include "07_flash_attention/shape.hpp"
#include "common/bench/options.hpp"
#include "common/bench/run_settings.hpp"
#include "common/bench/settings.hpp"

namespace attention {

template <class T>
std::vector<bench::Setting> settings() {
  constexpr bool kIs16Bit = Problem<T>::kIs16Bit;
  const std::int64_t most = Shape::kMostLength;
  return {
      bench::number("batch", "sequences", kIs16Bit ? 4 : 1, 1, 1, 1 << 20),
      bench::number("heads", "heads of a sequence", 16, 2, 1, 1 << 20),
      bench::number("kv-heads",
                    "K/V heads of a sequence: prefill, decoding and the backward pass alone", 0, 1,
                    1 << 20),
      bench::number("n", "queries of a sequence, and keys", kIs16Bit ? 4096 : 2048, 250, 1, most),
      bench::number("nk", "keys, if not as many as queries", 0, 1, most),
      bench::one_of("d", "elements of a query, a key, a value", {64, 128, 256}),
      bench::flag("causal", "query i sees no key after its own"),
      bench::number("tokens", "sets batch to tokens / n, and heads to 2048 / d", 0, 1, 1 << 30),
      bench::number("spread", "standard deviation of the scores (default 1, fp16: at most 5000)", 1,
                    1, 1'000'000),
  };
}

// Throws UsageError for what cannot be.
template <class T>
Shape shape_of(const bench::Settings& settings, const bench::RunSettings& run) {
  // Of a hundred million scores the largest is 6 to 7 times the standard deviation: half of 65504.
  constexpr std::int64_t kMostFp16Spread = 5000;
  if (std::is_same_v<T, __half> && settings["spread"] > kMostFp16Spread) {
    throw bench::UsageError("--spread: fp16 ends at 65504: at most " +
                            std::to_string(kMostFp16Spread) +
                            " (--only attention,attention_bf16 leaves fp16 out)");
  }
  if (settings.given("kv-heads")) {
    throw bench::UsageError(
        "--kv-heads: this forward pass has a K/V head for each head (--only prefill, decode_bf16 "
        "and "
        "backward_bf16 take it)");
  }
  const bool is_large = Problem<T>::kIs16Bit && run.device.is_real_gpu();
  const int d = settings.given("d") ? static_cast<int>(settings["d"]) : is_large ? 128 : 64;
  const std::int64_t n = settings["n"], n_k = settings.given("nk") ? settings["nk"] : n;
  Shape shape{settings["batch"], settings["heads"], n, n_k, d, settings["causal"] != 0};
  if (settings.given("tokens")) {
    const std::int64_t tokens = settings["tokens"];
    if (tokens % n != 0) {
      throw bench::UsageError("--tokens: " + std::to_string(tokens) +
                              " is not a multiple of n = " + std::to_string(n));
    }
    if (!settings.given("batch")) shape.batch = tokens / n;
    if (!settings.given("heads")) shape.heads = 2048 / d;
  }
  // The naive rung starts a block for each row, and blocks are counted in 31 bits.
  if (shape.rows() > INT32_MAX) throw bench::UsageError("batch x heads x n is too large");
  return shape;
}

}  // namespace attention
