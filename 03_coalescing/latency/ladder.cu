// Problem E in reading order: from the nearest memory to the farthest.
#include <memory>
#include <string>
#include <vector>

#include "03_coalescing/latency/01_shared.cuh"
#include "03_coalescing/latency/02_l1.cuh"
#include "03_coalescing/latency/03_l2.cuh"
#include "03_coalescing/latency/04_global.cuh"
#include "03_coalescing/latency/problem.cuh"
#include "03_coalescing/study/latency_cycles.cuh"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/variant.cuh"
#include "common/kit/check.cuh"

namespace latency {

static_assert(Latency::kSmallBytes == kSharedRingBytes, "the first rung copies the whole ring");

bench::Ladder<Latency> ladder() {
  bench::Ladder<Latency> ladder;
  ladder.name = Latency::name;
  ladder.variants = {
      latency_chain("shared", "16 KB in shared memory", &Latency::small, 0,
                    [](Latency& p, cudaStream_t stream) {
                      latency_shared(p.small.slots.device_data(), p.result.device_data(),
                                     Latency::kHops, stream);
                    }),
      latency_chain("l1", "16 KB in the L1 cache", &Latency::small, 1,
                    [](Latency& p, cudaStream_t stream) {
                      latency_l1(p.small.slots.device_data(), p.result.device_data(),
                                 p.small.lines(), Latency::kHops, stream);
                    }),
      latency_chain("l2", "2 MB in the L2 cache, past L1", &Latency::middle, 1,
                    [](Latency& p, cudaStream_t stream) {
                      latency_l2(p.middle.slots.device_data(), p.result.device_data(),
                                 p.middle.lines(), Latency::kHops, stream);
                    }),
      latency_chain("global", "device memory, no cache has it", &Latency::large, 0,
                    [](Latency& p, cudaStream_t stream) {
                      latency_global(p.large.slots.device_data(), p.result.device_data(),
                                     Latency::kHops, stream);
                    }),
  };
  ladder.make = [](const bench::Settings&, const bench::RunSettings& run) {
    return std::make_unique<Latency>(run.device, run.seed);
  };
  ladder.memory = [](const bench::Settings&, const bench::RunSettings&) {
    return Latency::memory();
  };
  ladder.after = cycles_after;
  return ladder;
}

}  // namespace latency

namespace ladders {

bench::Ladders latency() { return {latency::ladder()}; }

}  // namespace ladders
