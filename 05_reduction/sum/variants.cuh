// The index of this problem: every way to reduce n floats to one value, in reading order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

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
#include "05_reduction/sum/14_cooperative_groups.cuh"
#include "05_reduction/sum/15_tuned.cuh"
#include "05_reduction/sum/16_early_ticket.cuh"
#include "05_reduction/sum/peers.cuh"
#include "05_reduction/sum/problem.cuh"
#include "common/variant.cuh"

// A rung that takes (x, result, n, partials, stream), as most do.
using SumRung = void (*)(const float*, float*, std::int64_t, float*, cudaStream_t);
inline common::Variant<Sum> sum_rung(const std::string& name, const std::string& idea,
                                     SumRung rung) {
  return common::on_device<Sum>(name, idea, [rung](Sum& p, cudaStream_t stream) {
    rung(p.x.on_device(), p.result.on_device(), p.n, p.partials.on_device(), stream);
  });
}

template <class Op>
common::Variant<Reduction<Op>> operator_rung() {
  using Problem = Reduction<Op>;
  return common::on_device<Problem>("operator", "the operator is a parameter",
                                    [](Problem& p, cudaStream_t stream) {
                                      sum_operator<Op>(p.x.on_device(), p.result.on_device(), p.n,
                                                       p.partials.on_device(), stream);
                                    });
}

template <class Op>
common::Variant<Reduction<Op>> single_pass_rung() {
  using Problem = Reduction<Op>;
  return common::on_device<Problem>(
      "single_pass", "one launch: the last block to finish combines the partials",
      [](Problem& p, cudaStream_t stream) {
        sum_single_pass<Op>(p.x.on_device(), p.result.on_device(), p.n, p.partials.on_device(),
                            p.counter.on_device(), stream);
      });
}

template <class Op>
common::Variant<Reduction<Op>> cooperative_groups_rung() {
  using Problem = Reduction<Op>;
  const char* idea = "groups with names; all blocks meet in grid.sync()";
#ifdef SUM_HAS_COOPERATIVE_GROUPS
  return common::on_device<Problem>(
      "cooperative_groups", idea, [](Problem& p, cudaStream_t stream) {
        sum_cooperative_groups<Op>(p.x.on_device(), p.result.on_device(), p.n,
                                   p.partials.on_device(), stream);
      });
#else
  return common::on_device<Problem>(
      "cooperative_groups", idea, [](Problem&, cudaStream_t) {},
      common::Needs{0, false, "needs the headers cooperative_groups.h and its reduce.h"});
#endif
}

template <class Op>
common::Variant<Reduction<Op>> tuned_rung() {
  using Problem = Reduction<Op>;
  return common::on_device<Problem>(
      "tuned", "a shape tuned on an H200", [](Problem& p, cudaStream_t stream) {
        sum_tuned<Op>(p.x.on_device(), p.result.on_device(), p.n, p.partials.on_device(),
                      p.counter.on_device(), stream);
      });
}

template <class Op>
common::Variant<Reduction<Op>> early_ticket_rung() {
  using Problem = Reduction<Op>;
  static_assert(kEarlyTile >= Problem::kElementsOfValue, "words for every block");
  static_assert(kWordsOf<typename Op::Value> == Problem::kWordsOfValue, "and for its whole value");
  return common::on_device<Problem>(
      "early_ticket", "the number is drawn at the start; partials say that they are there",
      [](Problem& p, cudaStream_t stream) {
        sum_early_ticket<Op>(p.x.on_device(), p.result.on_device(), p.n, p.partials.on_device(),
                             p.words.on_device(), p.counter.on_device(), stream);
      });
}

inline std::vector<common::Variant<Sum>> sum_variants() {
  using common::on_cpu, common::on_device;
  return {
      on_cpu<Sum>("sequential", "the loop",
                  [](Sum& p) { *p.result.on_host() = sum_sequential(p.x.on_host(), p.n); }),
      on_cpu<Sum>("openmp", "a sum per core and vector lane, added up at the end",
                  [](Sum& p) { *p.result.on_host() = sum_openmp(p.x.on_host(), p.n); }),
      on_device<Sum>("single_block", "256 threads, 256 running sums",
                     [](Sum& p, cudaStream_t stream) {
                       sum_single_block(p.x.on_device(), p.result.on_device(), p.n, stream);
                     }),
      sum_rung("divergent_tree", "many blocks, in each a tree; lanes drop out", sum_divergent_tree),
      sum_rung("conflicting_tree", "whole warps drop out; banks collide", sum_conflicting_tree),
      sum_rung("sequential_tree", "neighbours add neighbours: no conflict", sum_sequential_tree),
      sum_rung("first_add", "the first addition while loading", sum_first_add),
      sum_rung("shuffle_down", "the last 32 by shuffles, without barriers", sum_shuffle_down),
      sum_rung("shuffle_xor", "a butterfly: every lane has the total", sum_shuffle_xor),
      sum_rung("grid_stride", "one tree a block, not a tile; float4", sum_grid_stride),
      operator_rung<Plus>(),
      single_pass_rung<Plus>(),
      on_device<Sum>("one_atomic", "one atomicAdd a block instead of partial sums",
                     [](Sum& p, cudaStream_t stream) {
                       sum_one_atomic(p.x.on_device(), p.result.on_device(), p.n, stream);
                     }),
      cooperative_groups_rung<Plus>(),
      tuned_rung<Plus>(),
      early_ticket_rung<Plus>(),
      cub_reduce_peer<Plus>(),
      sum_read_only(),
  };
}

// The maximum and its position: the rungs that take any operator.
template <class Op>
std::vector<common::Variant<Reduction<Op>>> extremum_variants() {
  using Problem = Reduction<Op>;
  return {
      common::on_cpu<Problem>("sequential", "the loop",
                              [](Problem& p) {
                                const float* x = p.x.on_host();
                                auto value = Op::identity();
                                for (std::int64_t i = 0; i < p.n; ++i) {
                                  value = Op::combine(value, Op::lift(x[i], i));
                                }
                                *p.result.on_host() = value;
                              }),
      operator_rung<Op>(),
      single_pass_rung<Op>(),
      cooperative_groups_rung<Op>(),
      tuned_rung<Op>(),
      early_ticket_rung<Op>(),
      cub_reduce_peer<Op>(),
  };
}
