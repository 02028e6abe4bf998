// The index of the products in fp8, in reading order: one problem for each way to scale.
#include <memory>
#include <vector>

#include "04_matmul/fp8/01_sequential.hpp"
#include "04_matmul/fp8/02_openmp.hpp"
#include "04_matmul/fp8/03_mma_sync.cuh"
#include "04_matmul/fp8/04_wgmma.cuh"
#include "04_matmul/fp8/05_promoted.cuh"
#include "04_matmul/fp8/06_block_scaled.cuh"
#include "04_matmul/fp8/07_scale_ring.cuh"
#include "04_matmul/fp8/beyond/01_two_accumulators.cuh"
#include "04_matmul/fp8/chosen.cuh"
#include "04_matmul/fp8/peers.cuh"
#include "04_matmul/fp8/problem.cuh"
#include "04_matmul/fp8/sweep_digits.cuh"
#include "04_matmul/fp8/sweep_layers.cuh"
#include "04_matmul/fp8/sweep_network.cuh"
#include "04_matmul/kit/scaling.cuh"
#include "04_matmul/shape_settings.hpp"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/variant.cuh"

namespace matmul::fp8 {

template <class Problem>
std::vector<bench::Variant<Problem>> variants() {
  using ElementA = typename Problem::InputA;
  using Scales = ScalesOf<Problem>;
  constexpr Scaling kScaling = Problem::scaling;
  const bench::Needs hopper = bench::needs_exactly_sm(90);
  auto sequential =
      bench::baseline<Problem>("sequential", "three loops, bytes turned into numbers by a table",
                               [](Problem& p) { fp8_gemm_sequential(p.host_product(), kScaling); });
  sequential.slow_above = 2.0 * 2048 * 2048 * 2048;
  std::vector<bench::Variant<Problem>> all = {sequential};
  if constexpr (!Problem::kIsE5M2) {
    auto openmp = bench::cpu_variant<Problem>(
        "openmp", "all cores, bytes turned into numbers by shifts",
        [](Problem& p) { fp8_gemm_openmp(p.host_product(), kScaling); });
    openmp.slow_above = 2.0 * 4096 * 4096 * 4096;
    all.push_back(openmp);
  }
  if constexpr (kScaling == Scaling::tensor && !Problem::kIsE5M2) {
    all.push_back(rung<Problem>("mma_sync", "the instruction of a warp, fed by ldmatrix (sm_89)",
                                fp8_gemm_mma_sync, bench::needs_sm(89)));
  }
  if constexpr (kScaling == Scaling::blocks) {
    all.push_back(rung<Problem>("block_scaled", "a scale every 128 values of k (sm_90a)",
                                fp8_gemm_block_scaled, hopper));
    all.push_back(rung<Problem>("scale_ring", "A's scales come by TMA with the tiles (sm_90a)",
                                fp8_gemm_scale_ring, hopper));
  } else {
    all.push_back(rung<Problem>("wgmma", "Hopper's instruction on the ring of bf16 (sm_90a)",
                                fp8_gemm_wgmma<Scales, ElementA>, hopper, Sums::fast));
    all.push_back(rung<Problem>("promoted", "sums move to fp32 every 128 values of k (sm_90a)",
                                fp8_gemm_promoted<Scales, ElementA>, hopper));
  }
  all.push_back(rung<Problem>("two_accumulators",
                              "one set is added up under the other's products (sm_90a)",
                              fp8_gemm_two_accumulators<Scales, 256, ElementA>, hopper));
  all.push_back(by_shape<Problem>());
  all.push_back(chosen<Problem>());
  all.push_back(cublaslt_peer<Problem>(Sums::promoted));
  if constexpr (kScaling != Scaling::blocks) all.push_back(cublaslt_peer<Problem>(Sums::fast));
  for (auto& variant : all) {
    if (variant.place == bench::Place::device) variant.tags = {"large"};  // for --only @large
  }
  all.push_back(read_only_yardstick<Problem>());
  return all;
}

template <class Problem>
bench::Ladder<Problem> ladder() {
  bench::Ladder<Problem> ladder;
  ladder.name = Problem::name;
  ladder.variants = variants<Problem>();
  ladder.show_gflops = true;
  ladder.settings = shape_settings();
  ladder.make = [](const bench::Settings& settings, const bench::RunSettings& run) {
    return std::make_unique<Problem>(shape_of(settings), run.seed, run.device.is_real_gpu());
  };
  ladder.memory = [](const bench::Settings& settings, const bench::RunSettings&) {
    return Problem::memory(shape_of(settings));
  };
  ladder.sweeps = {
      {"digits", "digits: how far off results are as k grows", sweep_digits<Problem>},
      {"layers", "layers: layers of language models beside cuBLASLt", sweep_layers<Problem>}};
  if constexpr (Problem::scaling == Scaling::tensor && !Problem::kIsE5M2) {
    ladder.sweeps.push_back({"network", "network: what one learns, by how products are rounded",
                             sweep_network<Problem>, bench::Points::of_its_own});
  }
  return ladder;
}

}  // namespace matmul::fp8

namespace ladders {

bench::Ladders fp8() {
  using matmul::Scaling, matmul::fp8::Fp8Gemm, matmul::fp8::ladder;
  return {ladder<Fp8Gemm<Scaling::tensor>>(), ladder<Fp8Gemm<Scaling::tensor, __nv_fp8_e5m2>>(),
          ladder<Fp8Gemm<Scaling::rows>>(), ladder<Fp8Gemm<Scaling::blocks>>()};
}

}  // namespace ladders
