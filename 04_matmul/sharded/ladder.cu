// The index of products that several devices share, in reading order: A's rows gathered before the
// product, and C's sums scattered after it.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "04_matmul/shape_settings.hpp"
#include "04_matmul/sharded/01_sequential.hpp"
#include "04_matmul/sharded/02_openmp.hpp"
#include "04_matmul/sharded/03_gather_then_product.cuh"
#include "04_matmul/sharded/04_chunks.cuh"
#include "04_matmul/sharded/05_flags.cuh"
#include "04_matmul/sharded/06_product_then_scatter.cuh"
#include "04_matmul/sharded/07_slices.cuh"
#include "04_matmul/sharded/08_to_owner.cuh"
#include "04_matmul/sharded/09_push_then_product.cuh"
#include "04_matmul/sharded/10_product_then_push.cuh"
#include "04_matmul/sharded/chosen.cuh"
#include "04_matmul/sharded/peers.cuh"
#include "04_matmul/sharded/problem.cuh"
#include "04_matmul/sharded/sweep_rows.cuh"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/variant.cuh"
#include "common/kit/devices.cuh"

namespace matmul::sharded {

// A loop on the host's arrays.
template <class Problem, class Run>
auto on_host(Run run) {
  return [run](Problem& p) {
    std::vector<const Element*> a, b;
    std::vector<Element*> c;
    for (int rank = 0; rank < p.size(); ++rank) {
      a.push_back(p.a[rank].host_data());
      b.push_back(p.b[rank].host_data());
      c.push_back(p.c[rank].host_data());
    }
    const std::int64_t across = Problem::kGathers ? p.shape.k : p.shape.n;
    run(p.rows, p.parts, across, a.data(), b.data(), c.data());
  };
}

template <class Problem>
bench::Ladder<Problem> ladder_of(std::vector<bench::Variant<Problem>> variants) {
  bench::Ladder<Problem> ladder;
  ladder.name = Problem::name;
  ladder.variants = std::move(variants);
  ladder.show_gflops = true;
  ladder.settings = shape_settings();
  ladder.settings.push_back(
      bench::number("devices", "GPUs that take part, 2 to 8 (default 0: all)", 0, 0, kMostDevices));
  ladder.make = [](const bench::Settings& settings, const bench::RunSettings& run) {
    return std::make_unique<Problem>(shape_of(settings), kit::team_size(settings["devices"]),
                                     run.seed, run.device.is_real_gpu());
  };
  ladder.memory = [](const bench::Settings& settings, const bench::RunSettings&) {
    return Problem::memory(shape_of(settings), kit::team_size(settings["devices"]));
  };
  ladder.sweeps = {{"shared_rows", "shared_rows: 128 to 16384 rows of A, beside NCCL and cuBLAS",
                    sweep_rows<Problem>}};
  return ladder;
}

// The tag "large": all but the loops.
inline bench::Ladder<GatherGemm> gather_ladder() {
  using Problem = GatherGemm;
  const auto large = [](bench::Variant<Problem> variant) {
    return bench::tagged(std::move(variant), {"large"});
  };
  auto sequential = bench::baseline<Problem>("sequential", "the loops, over all shards",
                                             on_host<Problem>(gather_gemm_sequential));
  sequential.slow_above = 2.0 * 2048 * 2048 * 2048;
  return ladder_of<Problem>(
      {sequential,
       bench::cpu_variant<Problem>("openmp", "all cores, four rows at a time",
                                   on_host<Problem>(gather_gemm_openmp)),
       large(team_rung<Problem>("gather_then_product", "A's rows to all devices, then one product",
                                gather_gemm_gather_then_product)),
       large(team_rung<Problem>("chunks", "own rows first, the others' as they come",
                                gather_gemm_chunks)),
       large(team_rung<Problem>("flags", "one kernel, whose blocks wait for chunks (sm_90a)",
                                gather_gemm_flags, bench::needs_exactly_sm(90))),
       large(team_rung<Problem>("push_then_product", "few rows: stores to all devices, one product",
                                gather_gemm_push_then_product)),
       large(chosen_gather()), large(nccl_gather()), large(alone<Problem>())});
}

inline bench::Ladder<GemmScatter> scatter_ladder() {
  using Problem = GemmScatter;
  const auto large = [](bench::Variant<Problem> variant) {
    return bench::tagged(std::move(variant), {"large"});
  };
  auto sequential = bench::baseline<Problem>("sequential", "the loops, over all shards",
                                             on_host<Problem>(gemm_scatter_sequential));
  sequential.slow_above = 2.0 * 2048 * 2048 * 2048;
  return ladder_of<Problem>(
      {sequential,
       bench::cpu_variant<Problem>("openmp", "all cores, four rows at a time",
                                   on_host<Problem>(gemm_scatter_openmp)),
       large(team_rung<Problem>("product_then_scatter", "the whole product, then rows to owners",
                                gemm_scatter_product_then_scatter)),
       large(team_rung<Problem>("slices", "the others' rows first, which leave meanwhile",
                                gemm_scatter_slices)),
       large(team_rung<Problem>("to_owner", "tiles stored in the owner's memory (sm_90a)",
                                gemm_scatter_to_owner, bench::needs_exactly_sm(90))),
       large(team_rung<Problem>("product_then_push", "few rows: stores to the owners, who add",
                                gemm_scatter_product_then_push)),
       large(chosen_scatter()), large(nccl_scatter()), large(alone<Problem>())});
}

}  // namespace matmul::sharded

namespace ladders {

bench::Ladders sharded() {
  return {matmul::sharded::gather_ladder(), matmul::sharded::scatter_ladder()};
}

}  // namespace ladders
