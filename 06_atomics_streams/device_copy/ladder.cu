// The index of `device_copy`: every way for bytes to go from device to device, in reading order.
#include <cstdint>
#include <memory>
#include <string>

#include "06_atomics_streams/device_copy/01_sequential.hpp"
#include "06_atomics_streams/device_copy/02_openmp.hpp"
#include "06_atomics_streams/device_copy/03_through_host.cuh"
#include "06_atomics_streams/device_copy/04_chunks.cuh"
#include "06_atomics_streams/device_copy/05_copy_engine.cuh"
#include "06_atomics_streams/device_copy/06_pull.cuh"
#include "06_atomics_streams/device_copy/07_push.cuh"
#include "06_atomics_streams/device_copy/08_tma.cuh"
#include "06_atomics_streams/device_copy/chosen.cuh"
#include "06_atomics_streams/device_copy/problem.cuh"
#include "06_atomics_streams/study/sweep_device_copy.cuh"
#include "06_atomics_streams/study/sweep_flags.cuh"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/variant.cuh"

namespace device_copy {

// A loop on the host's arrays: run(from, to, bytes) for each way.
template <int kWays>
auto on_host(void (*run)(const Byte*, Byte*, std::int64_t)) {
  return [run](DeviceCopy<kWays>& p) {
    for (int way = 0; way < kWays; ++way) run(p.x[way].host_data(), p.y[way].host_data(), p.n);
  };
}

template <int kWays>
bench::Ladder<DeviceCopy<kWays>> ladder() {
  using Problem = DeviceCopy<kWays>;
  bench::Ladder<Problem> ladder;
  ladder.name = Problem::name;
  ladder.settings = {
      bench::number("n",
                    "elements of every problem, of the lock at most 65536 (default: each its own)",
                    1 << 28, 1 << 16, 1, 0xfffffffe),
      bench::number("from", "GPU that device_copy copies from (default 0)", 0, 0,
                    kit::kMostDevices - 1),
      bench::number("to", "GPU that device_copy copies to (default 1)", 1, 0,
                    kit::kMostDevices - 1)};
  ladder.make = [](const bench::Settings& settings, const bench::RunSettings& run) {
    return std::make_unique<Problem>(settings["n"], static_cast<int>(settings["from"]),
                                     static_cast<int>(settings["to"]), run.seed);
  };
  ladder.memory = [](const bench::Settings& settings, const bench::RunSettings&) {
    return Problem::memory(settings["n"]);
  };
  ladder.variants = {
      bench::baseline<Problem>("sequential", "the loop", on_host<kWays>(device_copy_sequential)),
      bench::cpu_variant<Problem>("openmp", "a piece for each core",
                                  on_host<kWays>(device_copy_openmp)),
      transfer_rung<kWays>("through_host", "to the host, then to the other device",
                           device_copy_through_host),
      transfer_rung<kWays>("chunks", "the same, one chunk in while another goes out",
                           device_copy_chunks),
      bench::peer<Problem>(
          "copy_engine", "one cudaMemcpyAsync, over the link",
          [](Problem& p, cudaStream_t stream) { p.for_each_way(stream, device_copy_copy_engine); }),
      transfer_rung<kWays>("pull", "a kernel of the target loads over the link",
                           [](const Transfer& t) { device_copy_pull(t); }),
      transfer_rung<kWays>("push", "a kernel of the source stores over the link",
                           [](const Transfer& t) { device_copy_push(t); }),
      transfer_rung<kWays>("tma", "TMA stores over the link, from shared memory", device_copy_tma,
                           bench::needs_sm(90)),
      bench::chooser<Problem>("as a library would: by bytes",
                              [](Problem& p, cudaStream_t stream) {
                                std::string rung;
                                p.for_each_way(stream, [&rung](const Transfer& t) {
                                  rung = device_copy_chosen(t);
                                });
                                return rung;
                              }),
  };
  ladder.sweeps = {
      {"blocks", "blocks: copies between devices by blocks", sweep_blocks<kWays>,
       bench::Points::of_its_own},
      {"copies", "copies: copies between devices by bytes, in a graph, up to n",
       sweep_copies<kWays>, bench::Points::of_its_own},
  };
  if constexpr (kWays == 1) {
    ladder.sweeps.push_back({"flags", "flags: microseconds that a flag takes to a device and back",
                             sweep_flags, bench::Points::of_its_own});
  }
  return ladder;
}

}  // namespace device_copy

namespace ladders {

bench::Ladders device_copy() { return {device_copy::ladder<1>(), device_copy::ladder<2>()}; }

}  // namespace ladders
