// The last page of both ladders: which rung a library would take, by the size of the product.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#include "04_matmul/kit/vector_rows.cuh"
#include "04_matmul/sharded/03_gather_then_product.cuh"
#include "04_matmul/sharded/04_chunks.cuh"
#include "04_matmul/sharded/05_flags.cuh"
#include "04_matmul/sharded/06_product_then_scatter.cuh"
#include "04_matmul/sharded/07_slices.cuh"
#include "04_matmul/sharded/09_push_then_product.cuh"
#include "04_matmul/sharded/10_product_then_push.cuh"
#include "04_matmul/sharded/kit/pieces.cuh"
#include "04_matmul/sharded/kit/team.cuh"
#include "04_matmul/sharded/problem.cuh"
#include "common/bench/device_facts.cuh"
#include "common/bench/variant.cuh"

namespace matmul::sharded {

// region fastest
// Rows of A up to which SMs move them, or from which on a way is the fastest where the host makes
// each call. Measured on two and on four H200 with n = k = 8192.
constexpr std::int64_t kPushUpTo = 512, kFlagsFrom = 2048;
// With more ranks `chunks`, in a graph, is ahead of `flags` at every number of rows (four H200).
constexpr int kFlagsRanks = 2;

// The fastest rung for m rows. pieces: rows of A are whole pieces of 16 bytes, or their stores
// would be small ones. flags: whether that rung can run.
inline std::string fastest_gather(std::int64_t m, int ranks, bool pieces, bool flags) {
  if (m <= kPushUpTo) return pieces ? "push_then_product" : "gather_then_product";
  return flags && ranks <= kFlagsRanks && m >= kFlagsFrom ? "flags" : "chunks";
}
// pieces: of rows of C. On H200 to_owner was never faster than slices.
inline std::string fastest_scatter(std::int64_t m, bool pieces) {
  if (m <= kPushUpTo) return pieces ? "product_then_push" : "product_then_scatter";
  return "slices";
}
// endregion

inline bool has_wgmma() {
  static const bool kHas = bench::query_device().compute_capability() == 90;
  return kHas;
}

// C of every rank = all of A times its B'. Returns the name of the rung.
inline std::string gather_gemm_chosen(const Team& team, const GatherProduct& p) {
  bool vectors = true;
  for (int r = 0; r < team.size(); ++r) {
    vectors = vectors && have_vector_rows<true>(p.a[r], p.b[r], p.c[r], p.columns.size(r), p.k);
  }
  const std::string rung =
      fastest_gather(p.m, team.size(), p.k % kPiece == 0, vectors && has_wgmma());
  if (rung == "push_then_product") gather_gemm_push_then_product(team, p);
  if (rung == "gather_then_product") gather_gemm_gather_then_product(team, p);
  if (rung == "chunks") gather_gemm_chunks(team, p);
  if (rung == "flags") gather_gemm_flags(team, p);
  return rung;
}

// C of every rank = its rows of the sum of all products. Returns the name of the rung.
inline std::string gemm_scatter_chosen(const Team& team, const ProductScatter& p) {
  const std::string rung = fastest_scatter(p.m, p.n % kPiece == 0);
  if (rung == "product_then_push") gemm_scatter_product_then_push(team, p);
  if (rung == "product_then_scatter") gemm_scatter_product_then_scatter(team, p);
  if (rung == "slices") gemm_scatter_slices(team, p);
  return rung;
}

template <class Problem, class Choose>
bench::Variant<Problem> chosen_of(Choose choose) {
  auto variant = bench::chooser<Problem>(
      "a library's choice: by the rows of A and devices",
      [choose](Problem& p, cudaStream_t stream) {
        std::string rung;
        p.with_team(stream, [&](const Team& team, const auto& call) { rung = choose(team, call); });
        return rung;
      });
  variant.needs = bench::needs_sm(80);
  return variant;
}
inline bench::Variant<GatherGemm> chosen_gather() {
  return chosen_of<GatherGemm>(gather_gemm_chosen);
}
inline bench::Variant<GemmScatter> chosen_scatter() {
  return chosen_of<GemmScatter>(gemm_scatter_chosen);
}

}  // namespace matmul::sharded
