// The index of thin products: C = A B' with few rows of A, as a language model makes for each new
// token. B are the weights, n x k or, in the second list, k x n, and to read them is nearly all of
// the work. In reading order.
#pragma once

#include <memory>
#include <vector>

#include "04_matmul/bf16/beyond/08_warp_per_row.cuh"
#include "04_matmul/bf16/beyond/09_loads_ahead.cuh"
#include "04_matmul/bf16/beyond/10_direct_fragments.cuh"
#include "04_matmul/bf16/beyond/11_row_shares.cuh"
#include "04_matmul/bf16/beyond/12_k_shares.cuh"
#include "04_matmul/bf16/peers.cuh"
#include "04_matmul/bf16/problem.cuh"
#include "04_matmul/bf16/sweep_rows.cuh"
#include "04_matmul/study/roofline.cuh"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/variant.cuh"
#include "common/kit/workspace.cuh"

namespace matmul::bf16 {

// The memory for partial sums is allocated once.
template <bool kTransposedB>
bench::Variant<Bf16Gemm<kTransposedB>> k_shares() {
  const auto run = [workspace = kit::Workspace()](const Element* a, const Element* b, Element* c,
                                                  int m, int n, int k, cudaStream_t stream) {
    auto* const partials = workspace.get<float4>(kShareBytes / static_cast<int>(sizeof(float4)));
    bf16_gemm_k_shares<kTransposedB>(a, b, c, m, n, k, partials, stream);
  };
  return rung<kTransposedB>("k_shares", "an equal share of all tiles' k per SM, by TMA (sm_90a)",
                            run, bench::needs_exactly_sm(90));
}

template <bool kTransposedB>
std::vector<bench::Variant<Bf16Gemm<kTransposedB>>> thin_variants() {
  const bench::Needs any = bench::needs_sm(75), ampere = bench::needs_sm(80);
  const bench::Needs hopper = bench::needs_exactly_sm(90);
  std::vector<bench::Variant<Bf16Gemm<kTransposedB>>> all;
  if constexpr (kTransposedB) {
    all = {rung<true>("warp_per_row", "a warp has a row of B and eight of A",
                      bf16_gemm_warp_per_row, any),
           rung<true>("loads_ahead", "four loads of B per lane before the first is used",
                      bf16_gemm_loads_ahead, any),
           rung<true>("direct_fragments", "tensor cores, fed without shared memory (sm_80)",
                      bf16_gemm_direct_fragments, ampere),
           rung<true>("row_shares", "an equal share of B's rows per SM, by TMA (sm_90a)",
                      bf16_gemm_row_shares, hopper)};
  }
  all.push_back(k_shares<kTransposedB>());
  all.push_back(cublas_peer<kTransposedB>());
  all.push_back(read_only_yardstick<kTransposedB>());
  for (auto& variant : all) {
    if (variant.place == bench::Place::device) variant.tags = {"large"};  // for --only @large
  }
  return all;
}

template <bool kTransposedB>
bench::Ladder<Bf16Gemm<kTransposedB>> thin_ladder() {
  using Problem = Bf16Gemm<kTransposedB>;
  bench::Ladder<Problem> ladder;
  ladder.name = kTransposedB ? "thin_gemm" : "thin_gemm_kn";
  ladder.variants = thin_variants<kTransposedB>();
  ladder.show_gflops = true;
  ladder.settings = {bench::number("m", "rows of A and C", 16, 1, kMostSize),
                     bench::number("n", "columns of C", 11008, 512, 1, kMostSize),
                     bench::number("k", "columns of A", 4096, 512, 1, kMostSize)};
  const auto shape_of = [](const bench::Settings& settings) {
    return Shape{settings["m"], settings["n"], settings["k"]};
  };
  ladder.make = [shape_of](const bench::Settings& settings, const bench::RunSettings& run) {
    return std::make_unique<Problem>(shape_of(settings), run.seed, run.device.is_real_gpu());
  };
  ladder.memory = [shape_of](const bench::Settings& settings, const bench::RunSettings&) {
    return Problem::memory(shape_of(settings));
  };
  ladder.after = [](const bench::RunSettings& run, Problem& problem, const auto&,
                    const bench::ProblemReport&) -> bench::Shown {
    return {roof_text(problem.shape, Problem::kElementBytes, bf16_roof(run.device))};
  };
  ladder.sweeps = {
      {"rows", "rows: layers of language models, 1 to 128 rows of A", sweep_rows<kTransposedB>}};
  return ladder;
}

}  // namespace matmul::bf16
