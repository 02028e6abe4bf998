// What a reader may set about prefill, and what it makes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "07_flash_attention/prefill/problem.cuh"
#include "07_flash_attention/prefill/shape.hpp"
#include "common/bench/options.hpp"
#include "common/bench/run_settings.hpp"
#include "common/bench/settings.hpp"
#include "common/kit/random.cuh"

namespace prefill {

// On the CPU a run is to take a second.
inline std::vector<bench::Setting> settings() {
  const std::int64_t most = Shape::kMostTokens;
  return {
      bench::number("batch", "sequences", 4, 3, 1, 65535),
      bench::number("heads", "heads of a sequence", 32, 4, 1, 1 << 16),
      bench::number("kv-heads", "K/V heads (default: a fourth of the heads, if that is whole)", 0,
                    1, 1 << 16),
      bench::number("n", "queries of a sequence", 4096, 120, 1, most),
      bench::number("nk", "keys of a sequence, if not as many as queries", 0, 1, most),
      bench::one_of("d", "elements of a query, a key, a value", {64, 128, 256}),
      bench::flag("causal", "a query sees no key after its own; the last query's is the last key"),
      bench::number("window", "a query sees only so many keys up to its own (default: all)", 0, 1,
                    Shape::kMostWindow),
      bench::flag("ragged", "lengths from n / 64 to n, short ones more often; the first has n"),
  };
}

// Queries and keys of each sequence. Lengths of n / 64 to n are as frequent between n / 2 and n as
// between n / 4 and n / 2, and so on. nk - n: what each sequence has more keys than queries.
inline Lengths lengths_of(int batch, int n, int n_k, bool is_ragged, std::uint64_t seed) {
  Lengths lengths;
  for (int i = 0; i < batch; ++i) {
    const double random = (kit::random_bits(seed + 41, i) % 4096) / 4096.0;
    const int length =
        is_ragged && i > 0 ? static_cast<int>(std::lround(n * std::exp2(-6 * random))) : n;
    lengths.q.push_back(std::max(1, length));
    lengths.k.push_back(std::max(0, lengths.q.back() + n_k - n));
  }
  return lengths;
}
inline Lengths lengths_of(const bench::Settings& settings, const bench::RunSettings& run) {
  const int n = static_cast<int>(settings["n"]);
  return lengths_of(static_cast<int>(settings["batch"]), n,
                    settings.given("nk") ? static_cast<int>(settings["nk"]) : n,
                    settings["ragged"] != 0, run.seed);
}

// All but what follows from the lengths. Throws UsageError for what cannot be.
inline Shape shape_of(const bench::Settings& settings, const bench::RunSettings& run) {
  Shape shape{};
  shape.batch = static_cast<int>(settings["batch"]);
  shape.heads = static_cast<int>(settings["heads"]);
  shape.d = settings.given("d")        ? static_cast<int>(settings["d"])
            : run.device.is_real_gpu() ? 128
                                       : 64;
  shape.causal = settings["causal"] != 0;
  shape.window = static_cast<int>(settings["window"]);
  shape.kv_heads = settings.given("kv-heads") ? static_cast<int>(settings["kv-heads"])
                   : shape.heads % 4 == 0     ? shape.heads / 4
                                              : shape.heads;
  if (shape.heads % shape.kv_heads != 0) {
    throw bench::UsageError("--kv-heads: " + std::to_string(shape.heads) +
                            " heads are not a multiple of " + std::to_string(shape.kv_heads));
  }
  const std::int64_t n = settings["n"], n_k = settings.given("nk") ? settings["nk"] : n;
  if (shape.batch * std::max(n, n_k) > Shape::kMostTokens) {
    throw bench::UsageError("batch x n: at most " + std::to_string(Shape::kMostTokens) + " tokens");
  }
  // Tiles of queries, and blocks, are counted in 31 bits.
  if (shape.batch * n * shape.heads > INT32_MAX) {
    throw bench::UsageError("batch x heads x n is too large");
  }
  return shape;
}

}  // namespace prefill
