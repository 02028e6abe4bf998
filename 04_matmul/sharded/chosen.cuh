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
#include "04_matmul/sharded/problem.cuh"
#include "common/bench/device_facts.cuh"
#include "common/bench/variant.cuh"

namespace matmul::sharded {

// Rows of A from which on a way is the fastest. Measured on two H200 with n = k = 8192.
constexpr std::int64_t kChunksFrom = 512, kFlagsFrom = 2048, kSlicesFrom = 256;

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
  if (p.m < kChunksFrom) {
    gather_gemm_gather_then_product(team, p);
    return "gather_then_product";
  }
  if (p.m < kFlagsFrom || !has_wgmma() || !vectors) {
    gather_gemm_chunks(team, p);
    return "chunks";
  }
  gather_gemm_flags(team, p);
  return "flags";
}

// C of every rank = its rows of the sum of all products. Returns the name of the rung. On two H200
// to_owner was never faster than slices.
inline std::string gemm_scatter_chosen(const Team& team, const ProductScatter& p) {
  if (p.m < kSlicesFrom) {
    gemm_scatter_product_then_scatter(team, p);
    return "product_then_scatter";
  }
  gemm_scatter_slices(team, p);
  return "slices";
}

template <class Problem, class Choose>
bench::Variant<Problem> chosen_of(Choose choose) {
  auto variant = bench::chooser<Problem>(
      "a library's choice: by the rows of A", [choose](Problem& p, cudaStream_t stream) {
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
