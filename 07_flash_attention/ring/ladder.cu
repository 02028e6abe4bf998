// The index of this problem: every way to compute attention of one long sequence on several
// devices, in bf16, in reading order.
#include <cuda_bf16.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "07_flash_attention/ring/01_sequential.hpp"
#include "07_flash_attention/ring/02_openmp.hpp"
#include "07_flash_attention/ring/03_gather.cuh"
#include "07_flash_attention/ring/04_ring.cuh"
#include "07_flash_attention/ring/05_zigzag.cuh"
#include "07_flash_attention/ring/06_wgmma.cuh"
#include "07_flash_attention/ring/beyond/01_fused_steps.cuh"
#include "07_flash_attention/ring/chosen.cuh"
#include "07_flash_attention/ring/one_gpu.cuh"
#include "07_flash_attention/ring/problem.cuh"
#include "07_flash_attention/study/sweep_tokens.cuh"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/options.hpp"
#include "common/bench/variant.cuh"
#include "common/kit/devices.cuh"

namespace ring_attention {

using Element = __nv_bfloat16;
using Problem = RingAttention<Element>;

// Throws UsageError for what cannot be.
inline attention::Shape shape_of(const bench::Settings& settings, const bench::RunSettings& run) {
  const int d =
      settings.given("d") || !run.device.is_real_gpu() ? static_cast<int>(settings["d"]) : 128;
  const std::int64_t n = settings["n"];
  const attention::Shape shape{settings["batch"],      settings["heads"], n, n, d,
                               settings["causal"] != 0};
  if (shape.rows() > INT32_MAX) throw bench::UsageError("batch x heads x n is too large");
  return shape;
}

inline bench::Ladder<Problem> ladder() {
  const std::int64_t most = attention::Shape::kMostLength;
  const bench::Needs sm80 = bench::needs_sm(80), hopper = bench::needs_exactly_sm(90);
  const auto on_host =
      [](void (*run)(const attention::Shape&, const attention::Tensors<Element>&, int)) {
        return [run](Problem& p) { run(p.shape, p.whole->host_data(), p.size); };
      };

  bench::Ladder<Problem> ladder;
  ladder.name = Problem::name;
  ladder.show_gflops = true;
  ladder.settings = {
      bench::number("batch", "sequences", 1, 1, 1, 1 << 20),
      bench::number("heads", "heads of a sequence", 16, 2, 1, 1 << 20),
      bench::number("n", "tokens of a sequence, on all devices together", 16384, 250, 1, most),
      bench::one_of("d", "elements of a query, a key, a value", {64, 128, 256}),
      bench::flag("causal", "query i sees no key after its own"),
      bench::number("devices", "GPUs that take part, 2 to 8 (default 0: all)", 0, 0, kMostDevices)};
  ladder.make = [](const bench::Settings& settings, const bench::RunSettings& run) {
    return std::make_unique<Problem>(shape_of(settings, run), kit::team_size(settings["devices"]),
                                     run.seed, run.device.is_real_gpu());
  };
  ladder.memory = [](const bench::Settings& settings, const bench::RunSettings& run) {
    return Problem::memory(shape_of(settings, run), kit::team_size(settings["devices"]));
  };
  ladder.variants = {
      bench::slow_above(bench::baseline<Problem>("sequential", "the keys in parts, merged",
                                                 on_host(sequential<Element>)),
                        2e10),
      bench::slow_above(bench::cpu_variant<Problem>("openmp", "the queries divided among the cores",
                                                    on_host(openmp<Element>)),
                        6e11),
      team_rung<Element>("gather", "all keys and values to every device, then attention", false,
                         ring_attention_gather<Element>, sm80),
      team_rung<Element>("ring", "shards go round while the one before is computed with", false,
                         ring_attention_ring<Element>, sm80),
      team_rung<Element>("zigzag", "an early and a late chunk each: equal work under a mask", true,
                         ring_attention_zigzag<Element>, sm80),
      team_rung<Element>("wgmma", "the same steps with the fastest kernel for Hopper", true,
                         ring_attention_wgmma<Element>, hopper),
      team_rung<Element>("fused_steps", "two steps in one kernel: O stays in registers", true,
                         ring_attention_fused_steps<Element>, hopper),
      ring_attention_chooser<Element>(),
      one_gpu<Element>(),
  };
  ladder.sweeps = {{"tokens", "tokens: TFLOP/s by tokens on each device", sweep_tokens<Element>}};
  return ladder;
}

}  // namespace ring_attention

namespace ladders {

bench::Ladders ring() { return {ring_attention::ladder()}; }

}  // namespace ladders
