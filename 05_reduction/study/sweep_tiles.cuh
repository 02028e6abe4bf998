// --sweep tiles: how much should a block of the tuned sum read?
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <string>
#include <vector>

#include "05_reduction/sum/14_tuned.cuh"
#include "05_reduction/sum/problem.cuh"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/settings.hpp"

namespace reduction {

// The kernel of `tuned` for several numbers of tiles per block.
inline bench::Shown sweep_tiles(const bench::RunSettings& run, const bench::Settings& settings,
                                const std::vector<bench::Variant<Sum>>&) {
  const std::vector<int> tiles = {1, 2, 3, 4, 6, 8, 16};
  std::vector<bench::Variant<Sum>> variants;
  for (const int count : tiles) {
    variants.push_back(bench::device_variant<Sum>(
        std::to_string(count) + " tiles", "", [count](Sum& p, cudaStream_t stream) {
          launch_tuned<Plus>(p.x.device_data(), p.result.device_data(), p.n, count,
                             p.partials.device_data(), p.counter.device_data(), stream);
        }));
  }
  Sum problem(settings["n"], run.seed);
  const std::vector<double> ms = bench::time_sweep(run, problem, variants);
  bench::Sweep sweep{Sum::name, "tiles", {"tiles", "median_ms", "gbps"}, {}};
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    sweep.points.push_back({static_cast<double>(tiles[i]), ms[i], problem.bytes() / (1e6 * ms[i])});
  }
  return {sweep};
}

}  // namespace reduction
