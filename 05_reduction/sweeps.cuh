// --sweep tiles: how much should a block of the tuned sum read? --sweep size: from which n on does
// which way pay?
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "05_reduction/scan/variants.cuh"
#include "05_reduction/sum/variants.cuh"
#include "common/harness.cuh"
#include "common/program.cuh"

// The kernel of sum/15 for several numbers of tiles per block.
inline void sweep_tiles(common::Program& program, std::int64_t n) {
  const std::vector<int> tiles = {1, 2, 3, 4, 6, 8, 16};
  std::vector<common::Variant<Sum>> variants;
  for (const int count : tiles) {
    variants.push_back(common::on_device<Sum>(
        std::to_string(count) + " tiles", "", [count](Sum& p, cudaStream_t stream) {
          launch_tuned<Plus>(p.x.on_device(), p.result.on_device(), p.n, count,
                             p.partials.on_device(), p.counter.on_device(), stream);
        }));
  }
  Sum problem(n, program.seed());
  const std::vector<double> ms = common::time_sweep(program, problem, variants);
  common::Sweep sweep{Sum::name, "tiles", {"tiles", "median_ms", "gbps"}, {}};
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    sweep.points.push_back({static_cast<double>(tiles[i]), ms[i], problem.bytes() / (1e6 * ms[i])});
  }
  program.add(sweep);
}

// Of `variants`, those with the given names that can run here, in the order of the names.
template <class Problem>
std::vector<common::Variant<Problem>> named(const std::vector<common::Variant<Problem>>& variants,
                                            const std::vector<std::string>& names,
                                            const common::DeviceFacts& device) {
  const common::WorkStream stream(device);
  Problem smallest(1, 1);
  std::vector<common::Variant<Problem>> found;
  for (const std::string& name : names) {
    for (const auto& variant : variants) {
      if (variant.name != name) continue;
      const auto verdict = common::verify(smallest, variant, device, stream.get());
      if (verdict.status != common::Status::skipped) found.push_back(variant);
    }
  }
  return found;
}

// Gigabytes a second of the named variants for 2^16, 2^18, ... elements, up to `most`.
template <class Problem>
void sweep_size(common::Program& program, const std::vector<common::Variant<Problem>>& variants,
                std::int64_t most) {
  common::Sweep sweep{Problem::name, "size", {"n"}, {}};
  for (const auto& variant : variants) sweep.columns.push_back(variant.name);
  for (std::int64_t n = 1 << 16; n <= most; n *= 4) {
    Problem problem(n, program.seed());
    std::vector<double> point = {static_cast<double>(n)};
    for (const double ms : common::time_sweep(program, problem, variants)) {
      point.push_back(problem.bytes() / (1e6 * ms));
    }
    sweep.points.push_back(point);
  }
  program.add(sweep);
}

inline void sweep_sizes(common::Program& program, std::int64_t most) {
  const common::DeviceFacts& device = program.device();
  sweep_size(program,
             named(sum_variants(),
                   {"single_block", "shuffle_xor", "grid_stride", "single_pass", "tuned",
                    "early_ticket", "cub_reduce"},
                   device),
             most);
  sweep_size(program,
             named(scan_variants(),
                   {"three_kernels", "registers", "single_pass", "pipelined", "cub_scan"}, device),
             most);
}
