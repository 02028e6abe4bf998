// The problem's variants in reading order: every way to compute C = A B in single precision.
#pragma once

#include <string>
#include <vector>

#include "04_matmul/sgemm/01_sequential.hpp"
#include "04_matmul/sgemm/02_openmp.hpp"
#include "04_matmul/sgemm/03_naive.cuh"
#include "04_matmul/sgemm/04_coalesced.cuh"
#include "04_matmul/sgemm/05_tiled.cuh"
#include "04_matmul/sgemm/06_thread_column.cuh"
#include "04_matmul/sgemm/07_register_tile.cuh"
#include "04_matmul/sgemm/08_vectorized.cuh"
#include "04_matmul/sgemm/09_warp_tile.cuh"
#include "04_matmul/sgemm/10_async_copy.cuh"
#include "04_matmul/sgemm/11_tuned.cuh"
#include "04_matmul/sgemm/12_split_sum.cuh"
#include "04_matmul/sgemm/13_shared_round.cuh"
#include "04_matmul/sgemm/14_copy_warps.cuh"
#include "04_matmul/sgemm/peers.cuh"
#include "04_matmul/sgemm/problem.cuh"
#include "common/variant.cuh"

// Throws common::Skip if this much work takes a rung of so few GFLOP/s minutes.
inline void refuse_more_than(double flops, const Sgemm& problem) {
  if (problem.lift_limits || problem.flops() <= flops) return;
  throw common::Skip("would take minutes at this size (--slow runs it)");
}
constexpr double kMostSequential = 2.0 * 4096 * 4096 * 4096;
constexpr double kMostNaive = 2.0 * 6144 * 6144 * 6144;

// A rung on the device: void run(a, b, c, m, n, k, stream).
template <class Run>
common::Variant<Sgemm> sgemm_rung(const std::string& name, const std::string& idea, Run run,
                                  common::Needs needs = {}) {
  return common::on_device<Sgemm>(
      name, idea,
      [run](Sgemm& p, cudaStream_t stream) {
        run(p.device_a(), p.device_b(), p.c.on_device(), static_cast<int>(p.shape.m),
            static_cast<int>(p.shape.n), static_cast<int>(p.shape.k), stream);
      },
      needs);
}

inline std::vector<common::Variant<Sgemm>> sgemm_variants() {
  using common::on_cpu, common::needs_sm, common::needs_exactly_sm;
  const auto sequential = [](Sgemm& p) {
    refuse_more_than(kMostSequential, p);
    sgemm_sequential(p.a.on_host(), p.b.on_host(), p.c.on_host(), p.shape.m, p.shape.n, p.shape.k);
  };
  const auto openmp = [](Sgemm& p) {
    sgemm_openmp(p.a.on_host(), p.b.on_host(), p.c.on_host(), p.shape.m, p.shape.n, p.shape.k);
  };
  auto naive =
      sgemm_rung("naive", "a thread for each element: lanes run down a column", sgemm_naive);
  naive.run = [run = naive.run](Sgemm& p, cudaStream_t stream) {
    refuse_more_than(kMostNaive, p);
    return run(p, stream);
  };
  return {
      on_cpu<Sgemm>("sequential", "three loops, the innermost along rows", sequential),
      on_cpu<Sgemm>("openmp", "all cores, tiles in registers and caches", openmp),
      sgemm_openblas(),
      naive,
      sgemm_rung("coalesced", "lanes run along a row", sgemm_coalesced),
      sgemm_rung("tiled", "a block shares tiles of A and B in shared memory", sgemm_tiled),
      sgemm_rung("thread_column", "8 sums a thread: B's value serves 8 times", sgemm_thread_column),
      sgemm_rung("register_tile", "8 x 8 sums a thread", sgemm_register_tile),
      sgemm_rung("vectorized", "float4 from global and shared memory, A's tile turned",
                 sgemm_vectorized),
      sgemm_rung("warp_tile", "a compact tile for each warp: no bank conflicts", sgemm_warp_tile),
      sgemm_rung("async_copy", "cp.async fills the next tiles meanwhile (sm_80)", sgemm_async_copy,
                 needs_sm(80)),
      sgemm_rung("tuned", "16 x 8 sums a thread, operands loaded a step ahead (sm_80)", sgemm_tuned,
                 needs_sm(80)),
      sgemm_rung("split_sum", "tile by size; several blocks share long sums (sm_80)",
                 sgemm_split_sum, needs_sm(80)),
      sgemm_rung("shared_round", "all SMs share the last round's tiles (sm_80)", sgemm_shared_round,
                 needs_sm(80)),
      sgemm_rung("copy_warps", "four warps copy, eight only multiply (sm_90a)", sgemm_copy_warps,
                 needs_exactly_sm(90)),
      sgemm_cublas(),
      sgemm_cublas_tf32(),
      sgemm_multiply_add(),
  };
}
