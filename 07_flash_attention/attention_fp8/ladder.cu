// The index of this problem: attention with Q, K and V in fp8, in reading order.
#include <cstdint>
#include <memory>
#include <vector>

#include "07_flash_attention/attention_fp8/01_sequential.hpp"
#include "07_flash_attention/attention_fp8/02_openmp.hpp"
#include "07_flash_attention/attention_fp8/03_wgmma.cuh"
#include "07_flash_attention/attention_fp8/04_promoted.cuh"
#include "07_flash_attention/attention_fp8/problem.cuh"
#include "07_flash_attention/attention_fp8/sweep_keys.cuh"
#include "07_flash_attention/shape.hpp"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/options.hpp"
#include "common/bench/run_settings.hpp"
#include "common/bench/settings.hpp"
#include "common/bench/variant.cuh"

namespace attention::fp8 {

inline Shape shape_of(const bench::Settings& settings) {
  const std::int64_t n = settings["n"], n_k = settings.given("nk") ? settings["nk"] : n;
  const Shape shape{settings["batch"], settings["heads"],      n, n_k,
                    kHeadDim,          settings["causal"] != 0};
  if (shape.rows() > INT32_MAX) throw bench::UsageError("batch x heads x n is too large");
  return shape;
}

inline bench::Ladder<AttentionFp8> ladder() {
  const bench::Needs hopper = bench::needs_exactly_sm(90);
  const std::int64_t most = Shape::kMostLength;

  bench::Ladder<AttentionFp8> ladder;
  ladder.name = AttentionFp8::name;
  ladder.show_gflops = true;
  ladder.settings = {
      bench::number("batch", "sequences", 4, 1, 1, 1 << 20),
      bench::number("heads", "heads of a sequence", 16, 2, 1, 1 << 20),
      bench::number("n", "queries of a sequence, and keys", 4096, 130, 1, most),
      bench::number("nk", "keys, if not as many as queries", 0, 1, most),
      bench::flag("causal", "query i sees no key after its own"),
  };
  ladder.make = [](const bench::Settings& settings, const bench::RunSettings& run) {
    return std::make_unique<AttentionFp8>(shape_of(settings), run.seed, 0.0,
                                          run.device.is_real_gpu());
  };
  ladder.memory = [](const bench::Settings& settings, const bench::RunSettings&) {
    return AttentionFp8::memory(shape_of(settings));
  };
  ladder.variants = {
      bench::slow_above(bench::baseline<AttentionFp8>(
                            "sequential", "the definition, from bytes and scales",
                            [](AttentionFp8& p) { sequential(p.shape, p.host_data()); }),
                        2e10),
      bench::slow_above(bench::cpu_variant<AttentionFp8>(
                            "openmp", "all cores, bytes turned into numbers for 32 rows at once",
                            [](AttentionFp8& p) { openmp(p.shape, p.host_data()); }),
                        2e11),
      rung("wgmma", "both products in fp8, V transposed by the producer", wgmma, hopper,
           Sums::fast),
      rung("promoted", "sums move to fp32 with every tile of keys", promoted, hopper,
           Sums::promoted),
  };
  ladder.sweeps = {{"keys", "keys: how far off results are as keys become more", sweep_keys}};
  return ladder;
}

}  // namespace attention::fp8

namespace ladders {

bench::Ladders attention_fp8() { return {attention::fp8::ladder()}; }

}  // namespace ladders
