// The index of thin products: C = A B' with few rows of A, as a language model makes for each new
// token. B, n x k, are the weights, and to read them is nearly all of the work. In reading order.
#pragma once

#include <memory>
#include <vector>

#include "04_matmul/bf16/beyond/08_warp_per_row.cuh"
#include "04_matmul/bf16/beyond/09_loads_ahead.cuh"
#include "04_matmul/bf16/beyond/10_direct_fragments.cuh"
#include "04_matmul/bf16/beyond/11_row_shares.cuh"
#include "04_matmul/bf16/peers.cuh"
#include "04_matmul/bf16/problem.cuh"
#include "04_matmul/bf16/sweep_rows.cuh"
#include "04_matmul/study/roofline.cuh"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/variant.cuh"

namespace matmul::bf16 {

using ThinProblem = Bf16Gemm<true>;

inline std::vector<bench::Variant<ThinProblem>> thin_variants() {
  const bench::Needs any = bench::needs_sm(75), ampere = bench::needs_sm(80);
  const bench::Needs hopper = bench::needs_exactly_sm(90);
  std::vector<bench::Variant<ThinProblem>> all = {
      rung<true>("warp_per_row", "a warp has a row of B and eight of A", bf16_gemm_warp_per_row,
                 any),
      rung<true>("loads_ahead", "four loads of B per lane before the first is used",
                 bf16_gemm_loads_ahead, any),
      rung<true>("direct_fragments", "tensor cores, fed without shared memory (sm_80)",
                 bf16_gemm_direct_fragments, ampere),
      rung<true>("row_shares", "an equal share of B's rows per SM, by TMA (sm_90a)",
                 bf16_gemm_row_shares, hopper),
      cublas_peer<true>(),
      read_only_yardstick(),
  };
  for (auto& variant : all) {
    if (variant.place == bench::Place::device) variant.tags = {"large"};  // for --only @large
  }
  return all;
}

inline bench::Ladder<ThinProblem> thin_ladder() {
  bench::Ladder<ThinProblem> ladder;
  ladder.name = "thin_gemm";
  ladder.variants = thin_variants();
  ladder.show_gflops = true;
  ladder.settings = {bench::number("m", "rows of A and C", 16, 1, kMostSize),
                     bench::number("n", "columns of C, rows of B", 11008, 512, 1, kMostSize),
                     bench::number("k", "columns of A and B", 4096, 512, 1, kMostSize)};
  const auto shape_of = [](const bench::Settings& settings) {
    return Shape{settings["m"], settings["n"], settings["k"]};
  };
  ladder.make = [shape_of](const bench::Settings& settings, const bench::RunSettings& run) {
    return std::make_unique<ThinProblem>(shape_of(settings), run.seed, run.device.is_real_gpu());
  };
  ladder.memory = [shape_of](const bench::Settings& settings, const bench::RunSettings&) {
    return ThinProblem::memory(shape_of(settings));
  };
  ladder.after = [](const bench::RunSettings& run, ThinProblem& problem, const auto&,
                    const bench::ProblemReport&) -> bench::Shown {
    return {roof_text(problem.shape, ThinProblem::kElementBytes, bf16_roof(run.device))};
  };
  ladder.sweeps = {{"rows", "rows: layers of language models, 1 to 64 rows of A", sweep_rows}};
  return ladder;
}

}  // namespace matmul::bf16
