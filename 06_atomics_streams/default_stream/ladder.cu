// The index of `default_stream`: which default stream, and what it holds up, in reading order.
#include <memory>
#include <string>
#include <vector>

#include "06_atomics_streams/default_stream/01_legacy.cuh"
#include "06_atomics_streams/default_stream/02_per_thread.cuh"
#include "06_atomics_streams/default_stream/03_non_blocking.cuh"
#include "06_atomics_streams/default_stream/kit/eight_streams.cuh"
#include "06_atomics_streams/default_stream/problem.cuh"
#include "06_atomics_streams/study/eight_timelines.cuh"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/variant.cuh"
#include "common/kit/check.cuh"

namespace default_stream {

// Yardstick: one of the eight kernels, alone. Eight times this is no overlap, once is a full one.
inline bench::Variant<DefaultStream> default_stream_one_kernel() {
  auto one = bench::device_variant<DefaultStream>(
      "one_kernel", "yardstick: one of the eight, alone",
      [](DefaultStream& p, cudaStream_t stream) {
        default_stream_spin_kernel<<<1, kWidth, 0, stream>>>(p.y.device_data(), 0, p.rounds);
        CUDA_CHECK(cudaGetLastError());
      });
  one.kind = bench::Kind::yardstick;
  one.check = [](const DefaultStream& p) {
    return bench::compare(p.y.fetched(), p.expected.data(), kWidth, 0.0);
  };
  return one;
}

constexpr int kSpinRounds = 20'000;

bench::Ladder<DefaultStream> ladder() {
  bench::Ladder<DefaultStream> ladder;
  ladder.name = DefaultStream::name;
  for (const EightVariant& eight : eight_variants()) {
    const auto streams = std::make_shared<std::unique_ptr<EightStreams>>();  // made at first use
    ladder.variants.push_back(bench::device_variant<DefaultStream>(
        eight.name, eight.idea, [eight, streams](DefaultStream& p, cudaStream_t stream) {
          if (!*streams) *streams = std::make_unique<EightStreams>(eight.flags);
          eight.run(**streams, p.y.device_data(), p.rounds, stream, nullptr);
        }));
  }
  ladder.variants.push_back(default_stream_one_kernel());
  ladder.make = [](const bench::Settings&, const bench::RunSettings&) {
    return std::make_unique<DefaultStream>(kSpinRounds);
  };
  ladder.after = trace_variants;
  return ladder;
}

}  // namespace default_stream

namespace ladders {

bench::Ladders default_stream() { return {default_stream::ladder()}; }

}  // namespace ladders
