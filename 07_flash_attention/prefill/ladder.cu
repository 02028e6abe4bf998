// The index of this problem: every way to compute attention of prompts of different lengths in one
// batch, in bf16, in reading order.
#include <memory>
#include <string>

#include "07_flash_attention/prefill/01_sequential.hpp"
#include "07_flash_attention/prefill/02_openmp.hpp"
#include "07_flash_attention/prefill/03_padded.cuh"
#include "07_flash_attention/prefill/04_per_sequence.cuh"
#include "07_flash_attention/prefill/05_packed.cuh"
#include "07_flash_attention/prefill/06_windowed.cuh"
#include "07_flash_attention/prefill/07_grouped.cuh"
#include "07_flash_attention/prefill/08_early_scores.cuh"
#include "07_flash_attention/prefill/chosen.cuh"
#include "07_flash_attention/prefill/problem.cuh"
#include "07_flash_attention/prefill/settings.cuh"
#include "07_flash_attention/study/extra_memory.cuh"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/variant.cuh"

namespace prefill {

inline bench::Ladder<Prefill> ladder() {
  using T = Element16;
  const bench::Needs sm80 = bench::needs_sm(80), hopper = bench::needs_exactly_sm(90);

  bench::Ladder<Prefill> ladder;
  ladder.name = Prefill::name;
  ladder.show_gflops = true;
  ladder.settings = settings();
  ladder.make = [](const bench::Settings& settings, const bench::RunSettings& run) {
    return std::make_unique<Prefill>(shape_of(settings, run), lengths_of(settings, run), run.seed,
                                     settings["ragged"] != 0, run.device.is_real_gpu());
  };
  ladder.memory = [](const bench::Settings& settings, const bench::RunSettings& run) {
    const Shape shape = shape_of(settings, run);
    const Lengths lengths = lengths_of(settings, run);
    return Prefill::memory(shape, static_cast<double>(Lengths::sum(lengths.q)),
                           static_cast<double>(Lengths::sum(lengths.k)));
  };
  ladder.variants = {
      bench::slow_above(bench::baseline<Prefill>("sequential", "the definition, query by query",
                                                 [](Prefill& p) {
                                                   sequential(p.shape, p.host_data(),
                                                              p.host_starts());
                                                 }),
                        2e10),
      bench::slow_above(bench::cpu_variant<Prefill>(
                            "openmp", "the rows of all sequences over all cores",
                            [](Prefill& p) { openmp(p.shape, p.host_data(), p.host_starts()); }),
                        6e11),
      rung("padded", "mma.sync, a grid for the longest sequence", padded<T>, sm80),
      bench::device_variant<Prefill>(
          "per_sequence", "the kernel for Hopper, a launch a sequence",
          [](Prefill& p, cudaStream_t stream) {
            per_sequence(p.shape, p.device_data(), p.pristine_starts(), stream);
          },
          hopper),
      rung("packed", "one launch, the tiles of all sequences in one list", packed<T>, hopper),
      rung("windowed", "tiles of keys before the window are not loaded", windowed<T>, hopper),
      rung("grouped", "heads that share keys lie side by side in a tile", grouped<T>, hopper),
      rung("early_scores", "the next queries begin while these leave", early_scores<T>, hopper),
      chooser(),
  };
  ladder.after = attention::extra_memory<Prefill>;
  return ladder;
}

}  // namespace prefill

namespace ladders {

bench::Ladders prefill() { return {prefill::ladder()}; }

}  // namespace ladders
