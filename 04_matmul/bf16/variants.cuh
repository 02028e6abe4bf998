// The problem's variants in reading order: every way to compute C = A B in bf16 with sums in fp32.
// With B as n x k there are only the rungs from `multistage` on.
#pragma once

#include <string>
#include <vector>

#include "04_matmul/bf16/01_sequential.hpp"
#include "04_matmul/bf16/02_openmp.hpp"
#include "04_matmul/bf16/03_wmma.cuh"
#include "04_matmul/bf16/04_mma_sync.cuh"
#include "04_matmul/bf16/05_swizzled.cuh"
#include "04_matmul/bf16/06_multistage.cuh"
#include "04_matmul/bf16/07_wgmma.cuh"
#include "04_matmul/bf16/08_ring.cuh"
#include "04_matmul/bf16/09_large_tile.cuh"
#include "04_matmul/bf16/10_persistent.cuh"
#include "04_matmul/bf16/11_multicast.cuh"
#include "04_matmul/bf16/12_async_store.cuh"
#include "04_matmul/bf16/13_early_start.cuh"
#include "04_matmul/bf16/14_by_shape.cuh"
#include "04_matmul/bf16/15_split_sum.cuh"
#include "04_matmul/bf16/16_narrow_edge.cuh"
#include "04_matmul/bf16/17_shared_round.cuh"
#include "04_matmul/bf16/18_even_rounds.cuh"
#include "04_matmul/bf16/hopper_variants.cuh"
#include "04_matmul/bf16/peers.cuh"
#include "04_matmul/bf16/problem.cuh"
#include "04_matmul/bf16/rung.cuh"
#include "common/variant.cuh"

// Throws common::Skip if one core would take minutes.
template <class Problem>
void refuse_slow(const Problem& problem) {
  if (problem.lift_limits || problem.flops() <= 2.0 * 4096 * 4096 * 4096) return;
  throw common::Skip("would take minutes at this size (--slow runs it)");
}

template <bool kTransposedB>
std::vector<common::Variant<Bf16Gemm<kTransposedB>>> bf16_gemm_variants() {
  using common::needs_sm;
  using Problem = Bf16Gemm<kTransposedB>;
  std::vector<common::Variant<Problem>> variants;
  if constexpr (!kTransposedB) {
    const auto sequential = [](Problem& p) {
      refuse_slow(p);
      bf16_gemm_sequential(p.a.on_host(), p.b.on_host(), p.c.on_host(), p.shape.m, p.shape.n,
                           p.shape.k);
    };
    const auto openmp = [](Problem& p) {
      bf16_gemm_openmp(p.a.on_host(), p.b.on_host(), p.c.on_host(), p.shape.m, p.shape.n,
                       p.shape.k);
    };
    variants = {
        common::on_cpu<Problem>("sequential", "three loops, sums in fp32", sequential),
        common::on_cpu<Problem>("openmp", "all cores, four rows at a time", openmp),
        bf16_gemm_rung<false>("wmma", "tensor cores through C++ fragments (sm_80)", bf16_gemm_wmma,
                              needs_sm(80)),
        bf16_gemm_rung<false>("mma_sync", "the instruction itself, fed by ldmatrix (sm_80)",
                              bf16_gemm_mma_sync, needs_sm(80)),
        bf16_gemm_rung<false>("swizzled",
                              "tiles stored so that ldmatrix meets no conflicts (sm_80)",
                              bf16_gemm_swizzled, needs_sm(80)),
    };
  }
  variants.push_back(bf16_gemm_rung<kTransposedB>(
      "multistage", "a ring of tiles filled by cp.async, fragments a step ahead (sm_80)",
      bf16_gemm_multistage<kTransposedB>, needs_sm(80)));
  for (auto& variant : bf16_gemm_hopper_variants<kTransposedB>()) variants.push_back(variant);
  variants.push_back(bf16_gemm_cublas<kTransposedB>());
  if constexpr (!kTransposedB) variants.push_back(bf16_gemm_mma_loop<kTransposedB>());
  return variants;
}
