// What a reader may set about the backward pass, and the shape that it makes.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "07_flash_attention/backward/problem.cuh"
#include "07_flash_attention/backward/shape.hpp"
#include "common/bench/options.hpp"
#include "common/bench/settings.hpp"

namespace backward {

template <class T>
std::vector<bench::Setting> settings() {
  constexpr bool kIs16Bit = Backward<T>::kIs16Bit;
  const std::int64_t most = Shape::kMostLength;
  return {
      bench::number("batch", "sequences", kIs16Bit ? 4 : 1, 1, 1, 1 << 20),
      bench::number("heads", "heads of a sequence", 16, 2, 1, 1 << 20),
      bench::number("kv-heads", "K/V heads of a sequence (default: as many as heads)", 0, 1,
                    1 << 20),
      bench::number("n", "queries of a sequence, and keys", kIs16Bit ? 4096 : 1024, 250, 1, most),
      bench::number("nk", "keys, if not as many as queries", 0, 1, most),
      bench::one_of("d", "elements of a query, a key, a value", {64, 128, 256}),
      bench::flag("causal", "query i sees no key after its own"),
      bench::number("tokens", "sets batch to tokens / n, and heads to 2048 / d", 0, 1, 1 << 30),
  };
}

// What the settings say. Throws UsageError for what cannot be.
template <class T>
Shape shape_of(const bench::Settings& settings) {
  const int n = static_cast<int>(settings["n"]);
  const bool is_small = std::is_same_v<T, float> || n < 1024;
  Shape shape;
  shape.batch = settings["batch"];
  shape.heads = settings["heads"];
  shape.n_q = n;
  shape.n_k = settings.given("nk") ? static_cast<int>(settings["nk"]) : n;
  shape.d = settings.given("d") ? static_cast<int>(settings["d"]) : is_small ? 64 : 128;
  shape.causal = settings["causal"] != 0;
  if (settings.given("tokens")) {
    if (settings["tokens"] % n != 0) {
      throw bench::UsageError("--tokens: " + std::to_string(settings["tokens"]) +
                              " is not a multiple of n = " + std::to_string(n));
    }
    if (!settings.given("batch")) shape.batch = settings["tokens"] / n;
    if (!settings.given("heads")) shape.heads = 2048 / shape.d;
  }
  shape.kv_heads = settings.given("kv-heads") ? settings["kv-heads"] : shape.heads;
  if (shape.heads % shape.kv_heads != 0) {
    throw bench::UsageError("--kv-heads: " + std::to_string(shape.heads) +
                            " heads are not a multiple of " + std::to_string(shape.kv_heads));
  }
  return shape;
}

}  // namespace backward
