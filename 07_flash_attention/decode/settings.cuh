// What a reader may set about decoding, and what it makes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "07_flash_attention/decode/problem.cuh"
#include "07_flash_attention/decode/shape.hpp"
#include "common/bench/options.hpp"
#include "common/bench/run_settings.hpp"
#include "common/bench/settings.hpp"

namespace decode {

// The settings of both ladders. On the CPU a run is to take a second.
template <class T>
std::vector<bench::Setting> settings() {
  const std::int64_t most = Shape::kMostLength;
  return {
      bench::number("batch", "sequences", 16, 2, 1, 1 << 20),
      bench::number("heads", "query heads of a sequence", 32, 8, 1, 1 << 20),
      bench::number("kv-heads", "K/V heads (default: a fourth of the heads, if that is whole)", 0,
                    1, 1 << 20),
      bench::number("n", "tokens in the cache of a sequence", 4096, 250, 1, most),
      bench::one_of("d", "elements of a query, a key, a value", {64, 128, 256}),
  };
}

// Throws UsageError for what cannot be.
inline Shape shape_of(const bench::Settings& settings, const bench::RunSettings& run) {
  Shape shape;
  shape.batch = settings["batch"];
  shape.heads = settings["heads"];
  shape.n = static_cast<int>(settings["n"]);
  shape.d = settings.given("d")        ? static_cast<int>(settings["d"])
            : run.device.is_real_gpu() ? 128
                                       : 64;
  shape.kv_heads = settings.given("kv-heads") ? settings["kv-heads"]
                   : shape.heads % 4 == 0     ? shape.heads / 4
                                              : shape.heads;
  if (shape.heads % shape.kv_heads != 0) {
    throw bench::UsageError("--kv-heads: " + std::to_string(shape.heads) +
                            " heads are not a multiple of " + std::to_string(shape.kv_heads));
  }
  // Blocks, and rows of the caches, are counted in 31 bits; there are at most twice as many of
  // these as there are tokens.
  if (shape.rows() > INT32_MAX || shape.all_kv_heads() * shape.n > INT32_MAX / 2) {
    throw bench::UsageError("batch x heads x n is too large");
  }
  return shape;
}

inline Layout layout_of(const bench::Settings& settings) {
  Layout layout;
  layout.page = static_cast<int>(settings["page"]);
  if (settings.given("window")) layout.window = static_cast<int>(settings["window"]);
  layout.is_ragged = settings["ragged"] != 0;
  return layout;
}

}  // namespace decode
