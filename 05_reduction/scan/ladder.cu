// The index of this problem: every way to compute prefix sums, in reading order.
#include <cstdint>
#include <memory>
#include <vector>

#include "05_reduction/scan/01_sequential.hpp"
#include "05_reduction/scan/02_openmp.hpp"
#include "05_reduction/scan/03_hillis_steele.cuh"
#include "05_reduction/scan/04_blelloch.cuh"
#include "05_reduction/scan/05_three_kernels.cuh"
#include "05_reduction/scan/06_reduce_then_scan.cuh"
#include "05_reduction/scan/07_registers.cuh"
#include "05_reduction/scan/08_single_pass.cuh"
#include "05_reduction/scan/09_producer_warp.cuh"
#include "05_reduction/scan/10_pipelined.cuh"
#include "05_reduction/scan/chosen.cuh"
#include "05_reduction/scan/peers.cuh"
#include "05_reduction/scan/problem.cuh"
#include "05_reduction/study/sweep_size.cuh"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/memory_need.hpp"
#include "common/bench/variant.cuh"

namespace scan {

bench::Ladder<Scan> ladder() {
  using bench::cpu_variant, bench::device_variant, bench::tagged;
  bench::Ladder<Scan> ladder;
  ladder.name = Scan::name;
  ladder.variants = {
      bench::baseline<Scan>(
          "sequential", "the loop",
          [](Scan& p) { scan_sequential(p.x.host_data(), p.y.host_data(), p.n); }),
      cpu_variant<Scan>("openmp", "a stretch per core: sum, meet, scan",
                        [](Scan& p) { scan_openmp(p.x.host_data(), p.y.host_data(), p.n); }),
      device_variant<Scan>("hillis_steele", "one block, ten additions an element",
                           [](Scan& p, cudaStream_t stream) {
                             scan_hillis_steele(p.x.device_data(), p.y.device_data(), p.n, stream);
                           }),
      device_variant<Scan>("blelloch", "one block, two additions an element",
                           [](Scan& p, cudaStream_t stream) {
                             scan_blelloch(p.x.device_data(), p.y.device_data(), p.n, stream);
                           }),
      tagged(device_variant<Scan>("three_kernels", "all blocks: scan tiles, scan totals, add",
                                  [](Scan& p, cudaStream_t stream) {
                                    scan_three_kernels(p.x.device_data(), p.y.device_data(), p.n,
                                                       p.totals.device_data(), stream);
                                  }),
             {"size"}),
      device_variant<Scan>("reduce_then_scan", "the first kernel only sums",
                           [](Scan& p, cudaStream_t stream) {
                             scan_reduce_then_scan(p.x.device_data(), p.y.device_data(), p.n,
                                                   p.totals.device_data(), stream);
                           }),
      tagged(device_variant<Scan>("registers", "tiles in registers, shuffles instead of barriers",
                                  [](Scan& p, cudaStream_t stream) {
                                    scan_registers(p.x.device_data(), p.y.device_data(), p.n,
                                                   p.totals.device_data(), stream);
                                  }),
             {"size"}),
      tagged(device_variant<Scan>("single_pass", "decoupled look-back: one read, one write",
                                  [](Scan& p, cudaStream_t stream) {
                                    scan_single_pass(p.x.device_data(), p.y.device_data(), p.n,
                                                     p.states.device_data(),
                                                     p.counters.device_data(), stream);
                                  }),
             {"size"}),
      tagged(device_variant<Scan>(
                 "producer_warp", "one warp keeps a ring of tiles full through TMA (sm_90)",
                 [](Scan& p, cudaStream_t stream) {
                   scan_producer_warp(p.x.device_data(), p.y.device_data(), p.n,
                                      p.states.device_data(), p.counters.device_data(), stream);
                 },
                 bench::needs_sm(90)),
             {"size"}),
      tagged(device_variant<Scan>(
                 "pipelined", "publisher and looker are warps of their own (sm_90)",
                 [](Scan& p, cudaStream_t stream) {
                   scan_pipelined(p.x.device_data(), p.y.device_data(), p.n, p.states.device_data(),
                                  p.counters.device_data(), stream);
                 },
                 bench::needs_sm(90)),
             {"size"}),
      scan_chooser(),
      tagged(scan_peer(), {"size"}),
      scan_device_copy(),
  };
  ladder.settings = {bench::number("n", "number of elements (default 2097152; on a CPU 262144)",
                                   1 << 21, 1 << 18, 1, std::int64_t{1} << 40)};
  ladder.make = [](const bench::Settings& settings, const bench::RunSettings& run) {
    return std::make_unique<Scan>(settings["n"], run.seed);
  };
  ladder.memory = [](const bench::Settings& settings, const bench::RunSettings& run) {
    bench::MemoryNeed need = Scan::memory(settings["n"]);
    // The warps of pipelined wait for each other, with a tile in their registers.
    need.host += bench::stacks_of(settings["n"] / 128.0, run.device);
    return need;
  };
  ladder.sweeps = {{"size", "size: sum and scan by size, up to n", reduction::sweep_size<Scan>}};
  return ladder;
}

}  // namespace scan

namespace ladders {

bench::Ladders scan() { return {scan::ladder()}; }

}  // namespace ladders
