// The index of problem B: every way to treat a branch on data, in reading order.
#include <cstdint>
#include <memory>
#include <vector>

#include "02_warp_divergence/branch/01_sequential.hpp"
#include "02_warp_divergence/branch/02_openmp.hpp"
#include "02_warp_divergence/branch/03_divergent.cuh"
#include "02_warp_divergence/branch/04_select.cuh"
#include "02_warp_divergence/branch/05_vote.cuh"
#include "02_warp_divergence/branch/06_aligned.cuh"
#include "02_warp_divergence/branch/07_tiled.cuh"
#include "02_warp_divergence/branch/08_partitioned.cuh"
#include "02_warp_divergence/branch/peers.cuh"
#include "02_warp_divergence/branch/problem.cuh"
#include "02_warp_divergence/study/branch_sweeps.cuh"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/variant.cuh"

namespace branch {

bench::Ladder<Branch> ladder() {
  using bench::cpu_variant, bench::device_variant;
  bench::Ladder<Branch> ladder;
  ladder.name = Branch::name;
  ladder.variants = {
      bench::baseline<Branch>(
          "sequential", "the loop with its branch",
          [](Branch& p) { branch_sequential(p.x.host_data(), p.y.host_data(), p.n); }),
      cpu_variant<Branch>("openmp", "the loop, shared out over all cores",
                          [](Branch& p) { branch_openmp(p.x.host_data(), p.y.host_data(), p.n); }),
      device_variant<Branch>("divergent", "the branch as it stands, a thread per element",
                             [](Branch& p, cudaStream_t stream) {
                               branch_divergent(p.x.device_data(), p.y.device_data(), p.n, stream);
                             }),
      device_variant<Branch>("select", "no branch: every lane computes both paths and picks",
                             [](Branch& p, cudaStream_t stream) {
                               branch_select(p.x.device_data(), p.y.device_data(), p.n, stream);
                             }),
      device_variant<Branch>("vote", "a warp in which no lane needs the expensive path skips it",
                             [](Branch& p, cudaStream_t stream) {
                               branch_vote(p.x.device_data(), p.y.device_data(), p.n, stream);
                             }),
      device_variant<Branch>(
          "aligned", "the block queues its expensive elements: the branch falls between warps",
          [](Branch& p, cudaStream_t stream) {
            branch_aligned(p.x.device_data(), p.y.device_data(), p.n, stream);
          }),
      device_variant<Branch>("tiled", "eight elements per thread: the queue fills whole warps",
                             [](Branch& p, cudaStream_t stream) {
                               branch_tiled(p.x.device_data(), p.y.device_data(), p.n, stream);
                             }),
      device_variant<Branch>(
          "partitioned", "all expensive elements listed first, then done 32 at a time",
          [](Branch& p, cudaStream_t stream) {
            branch_partitioned(p.x.device_data(), p.y.device_data(), p.n, p.places.device_data(),
                               p.count.device_data(), stream);
          }),
      branch_peer(),
      branch_device_copy(),
  };
  ladder.settings = {
      bench::number("n", "angles (default 10000000), elements (4000000); on a CPU 100003",
                    4'000'000, 100'003, 1, INT64_MAX),
      bench::number("percent", "expensive elements of the branch (default 2)", 2, 0, 100),
      bench::number("run", "neighbours that take the same path (default 1)", 1, 1, INT64_MAX)};
  ladder.make = [](const bench::Settings& settings, const bench::RunSettings& run) {
    return std::make_unique<Branch>(settings["n"], settings["percent"], settings["run"], run.seed);
  };
  ladder.memory = [](const bench::Settings& settings, const bench::RunSettings&) {
    return Branch::memory(settings["n"]);
  };
  ladder.sweeps = {{"percent", "percent: branch by expensive elements", sweep_percent},
                   {"run", "run: branch by length of their runs", sweep_run},
                   {"steps", "steps: an `if` by the length of its body", sweep_steps,
                    bench::Points::of_its_own}};
  return ladder;
}

}  // namespace branch

namespace ladders {

bench::Ladders branch() { return {branch::ladder()}; }

}  // namespace ladders
