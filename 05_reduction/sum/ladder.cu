// The index of this problem: every way to reduce n floats to one value, in reading order.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "05_reduction/kit/operators.cuh"
#include "05_reduction/study/summation_error.cuh"
#include "05_reduction/study/sweep_size.cuh"
#include "05_reduction/study/sweep_tiles.cuh"
#include "05_reduction/sum/01_sequential.hpp"
#include "05_reduction/sum/02_openmp.hpp"
#include "05_reduction/sum/03_single_block.cuh"
#include "05_reduction/sum/04_divergent_tree.cuh"
#include "05_reduction/sum/05_conflicting_tree.cuh"
#include "05_reduction/sum/06_sequential_tree.cuh"
#include "05_reduction/sum/07_first_add.cuh"
#include "05_reduction/sum/08_shuffle_down.cuh"
#include "05_reduction/sum/09_shuffle_xor.cuh"
#include "05_reduction/sum/10_grid_stride.cuh"
#include "05_reduction/sum/11_operator.cuh"
#include "05_reduction/sum/12_single_pass.cuh"
#include "05_reduction/sum/13_one_atomic.cuh"
#include "05_reduction/sum/14_tuned.cuh"
#include "05_reduction/sum/beyond/01_cooperative_groups.cuh"
#include "05_reduction/sum/beyond/02_early_ticket.cuh"
#include "05_reduction/sum/chosen.cuh"
#include "05_reduction/sum/peers.cuh"
#include "05_reduction/sum/problem.cuh"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/memory_need.hpp"
#include "common/bench/variant.cuh"

namespace reduction {

template <class Op>
bench::Variant<Reduction<Op>> cooperative_groups_rung() {
  const char* idea = "groups with names; all blocks wait in grid.sync()";
#ifdef SUM_HAS_COOPERATIVE_GROUPS
  return sum_rung<Op>("cooperative_groups", idea, sum_cooperative_groups<Op>);
#else
  return bench::device_variant<Reduction<Op>>(
      "cooperative_groups", idea, [](Reduction<Op>&, cudaStream_t) {},
      bench::Needs{0, false, "needs the headers cooperative_groups.h and its reduce.h"});
#endif
}

// What the ladders of all operators have in common.
template <class Op>
bench::Ladder<Reduction<Op>> empty_ladder() {
  using Problem = Reduction<Op>;
  bench::Ladder<Problem> ladder;
  ladder.name = Problem::name;
  ladder.settings = {bench::number("n", "number of elements (default 2097152; on a CPU 262144)",
                                   1 << 21, 1 << 18, 1, std::int64_t{1} << 40)};
  ladder.make = [](const bench::Settings& settings, const bench::RunSettings& run) {
    return std::make_unique<Problem>(settings["n"], run.seed);
  };
  ladder.memory = [](const bench::Settings& settings, const bench::RunSettings& run) {
    bench::MemoryNeed need = Problem::memory(settings["n"]);
    // Of cooperative_groups every thread waits for the whole grid, and has four elements.
    need.host += bench::stacks_of(settings["n"] / 4.0, run.device);
    return need;
  };
  return ladder;
}

// The tag "end": from where on the bandwidth is the limit; "size": what --sweep size compares.
bench::Ladder<Sum> ladder() {
  using bench::cpu_variant, bench::device_variant, bench::tagged;
  bench::Ladder<Sum> ladder = empty_ladder<Plus>();
  ladder.variants = {
      bench::baseline<Sum>(
          "sequential", "the loop",
          [](Sum& p) { *p.result.host_data() = sum_sequential(p.x.host_data(), p.n); }),
      cpu_variant<Sum>("openmp", "a sum per core and vector lane, added up at the end",
                       [](Sum& p) { *p.result.host_data() = sum_openmp(p.x.host_data(), p.n); }),
      tagged(device_variant<Sum>("single_block", "256 threads, 256 running sums",
                                 [](Sum& p, cudaStream_t stream) {
                                   sum_single_block(p.x.device_data(), p.result.device_data(), p.n,
                                                    stream);
                                 }),
             {"size"}),
      sum_rung<Plus>("divergent_tree", "many blocks, in each a tree; lanes drop out",
                     sum_divergent_tree),
      sum_rung<Plus>("conflicting_tree", "whole warps drop out; banks collide",
                     sum_conflicting_tree),
      sum_rung<Plus>("sequential_tree", "neighbours add neighbours: no conflict",
                     sum_sequential_tree),
      sum_rung<Plus>("first_add", "the first addition while loading", sum_first_add),
      sum_rung<Plus>("shuffle_down", "the last 32 by shuffles, without barriers", sum_shuffle_down),
      tagged(
          sum_rung<Plus>("shuffle_xor", "a butterfly: every lane has the total", sum_shuffle_xor),
          {"size"}),
      tagged(sum_rung<Plus>("grid_stride", "one tree a block, not a tile; float4", sum_grid_stride),
             {"end", "size"}),
      sum_rung<Plus>("operator", "the operator is a parameter", sum_operator<Plus>),
      tagged(sum_rung<Plus>("single_pass",
                            "one launch: the last block to finish combines the partials",
                            sum_single_pass<Plus>),
             {"end", "size"}),
      device_variant<Sum>("one_atomic", "one atomicAdd a block instead of partial sums",
                          [](Sum& p, cudaStream_t stream) {
                            sum_one_atomic(p.x.device_data(), p.result.device_data(), p.n, stream);
                          }),
      tagged(sum_rung<Plus>("tuned", "a shape tuned on an H200", sum_tuned<Plus>), {"end", "size"}),
      cooperative_groups_rung<Plus>(),
      tagged(sum_rung<Plus>("early_ticket",
                            "the number is drawn at the start; partials say that they are there",
                            sum_early_ticket<Plus>),
             {"end", "size"}),
      sum_chooser<Plus>(),
      tagged(cub_reduce_peer<Plus>(), {"end", "size"}),
      tagged(sum_read_only(), {"end"}),
  };
  ladder.sweeps = {
      {"tiles", "tiles: rung `tuned` by tiles per block", sweep_tiles, bench::Points::of_its_own},
      {"size", "size: sum and scan by size, up to n", sweep_size<Sum>}};
  // The errors of sums in floats, if the whole ladder has run.
  ladder.after = [whole = ladder.variants.size()](
                     const bench::RunSettings& run, Sum& problem, const auto&,
                     const bench::ProblemReport& report) -> bench::Shown {
    if (report.rows.size() < whole || run.verify_only) return {};
    return {summation_errors(run, problem.n)};
  };
  return ladder;
}

// The maximum and its position: the rungs that take any operator.
template <class Op>
bench::Ladder<Reduction<Op>> extremum_ladder() {
  using Problem = Reduction<Op>;
  bench::Ladder<Problem> ladder = empty_ladder<Op>();
  ladder.variants = {
      bench::baseline<Problem>("sequential", "the loop",
                               [](Problem& p) {
                                 const float* x = p.x.host_data();
                                 auto value = Op::identity();
                                 for (std::int64_t i = 0; i < p.n; ++i) {
                                   value = Op::combine(value, Op::lift(x[i], i));
                                 }
                                 *p.result.host_data() = value;
                               }),
      sum_rung<Op>("operator", "the operator is a parameter", sum_operator<Op>),
      sum_rung<Op>("single_pass", "one launch: the last block to finish combines the partials",
                   sum_single_pass<Op>),
      sum_rung<Op>("tuned", "a shape tuned on an H200", sum_tuned<Op>),
      cooperative_groups_rung<Op>(),
      sum_rung<Op>("early_ticket",
                   "the number is drawn at the start; partials say that they are there",
                   sum_early_ticket<Op>),
      sum_chooser<Op>(),
      cub_reduce_peer<Op>(),
  };
  return ladder;
}

}  // namespace reduction

namespace ladders {

bench::Ladders sum() {
  return {reduction::ladder(), reduction::extremum_ladder<reduction::Max>(),
          reduction::extremum_ladder<reduction::ArgMax>()};
}

}  // namespace ladders
