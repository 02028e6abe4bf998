// The index of the tensor-core half: every way to compute C = A B in bf16 with sums in fp32, in
// reading order. With B as n x k there are only the rungs from `multistage` on.
#include <memory>
#include <string>
#include <vector>

#include "04_matmul/bf16/01_sequential.hpp"
#include "04_matmul/bf16/02_openmp.hpp"
#include "04_matmul/bf16/03_wmma.cuh"
#include "04_matmul/bf16/04_mma_sync.cuh"
#include "04_matmul/bf16/05_swizzled.cuh"
#include "04_matmul/bf16/06_multistage.cuh"
#include "04_matmul/bf16/07_tma.cuh"
#include "04_matmul/bf16/08_wgmma.cuh"
#include "04_matmul/bf16/09_warp_specialized.cuh"
#include "04_matmul/bf16/10_large_tile.cuh"
#include "04_matmul/bf16/11_persistent.cuh"
#include "04_matmul/bf16/12_async_store.cuh"
#include "04_matmul/bf16/13_multicast.cuh"
#include "04_matmul/bf16/14_in_flight.cuh"
#include "04_matmul/bf16/beyond/01_programmatic_launch.cuh"
#include "04_matmul/bf16/beyond/02_by_shape.cuh"
#include "04_matmul/bf16/beyond/04_narrow_edge.cuh"
#include "04_matmul/bf16/beyond/05_stream_k.cuh"
#include "04_matmul/bf16/beyond/06_full_waves.cuh"
#include "04_matmul/bf16/beyond/13_fitted_tile.cuh"
#include "04_matmul/bf16/beyond/14_late_store.cuh"
#include "04_matmul/bf16/chosen.cuh"
#include "04_matmul/bf16/peers.cuh"
#include "04_matmul/bf16/problem.cuh"
#include "04_matmul/bf16/thin_ladder.cuh"
#include "04_matmul/shape_settings.hpp"
#include "04_matmul/study/roofline.cuh"
#include "04_matmul/study/sweeps.cuh"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/variant.cuh"

namespace matmul::bf16 {

template <bool kTransposedB>
std::vector<bench::Variant<Bf16Gemm<kTransposedB>>> variants() {
  using Problem = Bf16Gemm<kTransposedB>;
  const bench::Needs ampere = bench::needs_sm(80), hopper = bench::needs_exactly_sm(90);
  // For --only: @large are worth their time at 8192, @end are what sweeps show.
  const std::vector<std::string> large = {"large"}, end = {"large", "end"};
  std::vector<bench::Variant<Problem>> all;
  if constexpr (!kTransposedB) {
    const auto on_host = [](auto multiply) {
      return [multiply](Problem& p) {
        multiply(p.a.host_data(), p.b.host_data(), p.c.host_data(), p.shape.m, p.shape.n,
                 p.shape.k);
      };
    };
    auto sequential = bench::baseline<Problem>("sequential", "three loops, sums in fp32",
                                               on_host(bf16_gemm_sequential));
    sequential.slow_above = 2.0 * 4096 * 4096 * 4096;
    all = {
        sequential,
        bench::cpu_variant<Problem>("openmp", "all cores, four rows at a time",
                                    on_host(bf16_gemm_openmp)),
        rung<false>("wmma", "tensor cores through C++ fragments (sm_80)", bf16_gemm_wmma, ampere),
        bench::tagged(rung<false>("mma_sync", "the instruction itself, fed by ldmatrix (sm_80)",
                                  bf16_gemm_mma_sync, ampere),
                      large),
        bench::tagged(rung<false>("swizzled", "tiles stored so that ldmatrix meets no conflicts",
                                  bf16_gemm_swizzled, ampere),
                      large),
    };
  }
  const auto add = [&](const std::vector<std::string>& tags, const char* name, const char* idea,
                       auto run, const bench::Needs& needs) {
    all.push_back(bench::tagged(rung<kTransposedB>(name, idea, run, needs), tags));
  };
  add(end, "multistage", "a ring of tiles filled by cp.async, fragments loaded ahead (sm_80)",
      bf16_gemm_multistage<kTransposedB>, ampere);
  add(large, "tma", "TMA and mbarriers fill the ring, one thread issues (sm_90)",
      bf16_gemm_tma<kTransposedB>, bench::needs_sm(90));
  add(large, "wgmma", "a warpgroup multiplies from shared memory (sm_90a)",
      bf16_gemm_wgmma<kTransposedB>, hopper);
  add(large, "warp_specialized", "a producer, two consumers, four stages between (sm_90a)",
      bf16_gemm_warp_specialized<kTransposedB>, hopper);
  add(large, "large_tile", "128 x 256 per block, registers moved to the consumers (sm_90a)",
      bf16_gemm_large_tile<kTransposedB>, hopper);
  add(large, "persistent", "a block an SM takes tile after tile, in an order for L2 (sm_90a)",
      bf16_gemm_persistent<kTransposedB>, hopper);
  add(large, "async_store", "C by way of shared memory, stored by TMA (sm_90a)",
      bf16_gemm_async_store<kTransposedB>, hopper);
  add(large, "multicast", "clusters of two load B's tile once (sm_90a)",
      bf16_gemm_multicast<kTransposedB>, hopper);
  add(large, "in_flight", "products of the next k tile issued before the wait (sm_90a)",
      bf16_gemm_in_flight<kTransposedB>, hopper);
  add(large, "programmatic_launch", "beyond: starts while the launch before ends (sm_90a)",
      bf16_gemm_programmatic_launch<kTransposedB>, hopper);
  add(large, "by_shape", "beyond: the tile chosen by the shape of the matrices (sm_90a)",
      bf16_gemm_by_shape<kTransposedB>, hopper);
  all.push_back(split_k<kTransposedB>());
  add(large, "narrow_edge", "beyond: narrower tiles for the last columns of C (sm_90a)",
      bf16_gemm_narrow_edge<kTransposedB>, hopper);
  all.push_back(bench::tagged(stream_k<kTransposedB>(), large));
  add(large, "full_waves", "beyond: transposed tiles of 248 rows fill all waves (sm_90a)",
      bf16_gemm_full_waves<kTransposedB>, hopper);
  add({}, "fitted_tile", "beyond: tiles as high or as wide as fills the waves (sm_90a)",
      bf16_gemm_fitted_tile<kTransposedB>, hopper);
  add(large, "late_store", "beyond: C leaves while the next tile is multiplied (sm_90a)",
      bf16_gemm_late_store<kTransposedB>, hopper);
  all.push_back(padded_copies<kTransposedB>());
  all.push_back(bench::tagged(chosen<kTransposedB>(), end));
  all.push_back(bench::tagged(cublas_peer<kTransposedB>(), end));
  all.push_back(cublas_default_yardstick<kTransposedB>());
  if constexpr (!kTransposedB) {
    all.push_back(bench::tagged(mma_loop_yardstick<kTransposedB>(), large));
  }
  return all;
}

// What the two layouts of B share in one run of the program.
struct KnownReference {
  Shape shape = {0, 0, 0};
  std::uint64_t seed = 0;
  std::shared_ptr<const Bf16Reference> reference;
};

template <bool kTransposedB>
bench::Ladder<Bf16Gemm<kTransposedB>> ladder(
    std::shared_ptr<KnownReference> known = std::make_shared<KnownReference>()) {
  using Problem = Bf16Gemm<kTransposedB>;
  bench::Ladder<Problem> ladder;
  ladder.name = Problem::name;
  ladder.variants = variants<kTransposedB>();
  ladder.show_gflops = true;
  ladder.settings = shape_settings();
  ladder.make = [known](const bench::Settings& settings, const bench::RunSettings& run) {
    const Shape shape = shape_of(settings);
    const bool is_known = known->shape.m == shape.m && known->shape.n == shape.n &&
                          known->shape.k == shape.k && known->seed == run.seed;
    auto problem = std::make_unique<Problem>(shape, run.seed, run.device.is_real_gpu(),
                                             is_known ? known->reference : nullptr);
    *known = {shape, run.seed, problem->reference};
    return problem;
  };
  ladder.memory = [](const bench::Settings& settings, const bench::RunSettings&) {
    return Problem::memory(shape_of(settings));
  };
  ladder.after = [](const bench::RunSettings& run, Problem& problem, const auto&,
                    const bench::ProblemReport&) -> bench::Shown {
    return {roof_text(problem.shape, Problem::kElementBytes, bf16_roof(run.device))};
  };
  ladder.sweeps = {
      {"size", "size: the best rungs and cuBLAS from small to large", sweep_size<Problem>},
      {"few_tiles", "few_tiles: the same where C is small and k long", sweep_few_tiles<Problem>}};
  return ladder;
}

}  // namespace matmul::bf16

namespace ladders {

bench::Ladders bf16() {
  const auto reference = std::make_shared<matmul::bf16::KnownReference>();
  return {matmul::bf16::ladder<false>(reference), matmul::bf16::ladder<true>(reference),
          matmul::bf16::thin_ladder<true>(), matmul::bf16::thin_ladder<false>()};
}

}  // namespace ladders
