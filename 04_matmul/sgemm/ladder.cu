// The index of the fp32 half: every way to compute C = A B in single precision, in reading order.
#include <memory>
#include <string>
#include <vector>

#include "04_matmul/sgemm/01_sequential.hpp"
#include "04_matmul/sgemm/02_openmp.hpp"
#include "04_matmul/sgemm/03_naive.cuh"
#include "04_matmul/sgemm/04_coalesced.cuh"
#include "04_matmul/sgemm/05_tiled.cuh"
#include "04_matmul/sgemm/06_thread_tile_1d.cuh"
#include "04_matmul/sgemm/07_register_tile.cuh"
#include "04_matmul/sgemm/08_vectorized.cuh"
#include "04_matmul/sgemm/09_warp_tile.cuh"
#include "04_matmul/sgemm/10_async_copy.cuh"
#include "04_matmul/sgemm/11_large_tile.cuh"
#include "04_matmul/sgemm/12_register_double_buffer.cuh"
#include "04_matmul/sgemm/13_multistage.cuh"
#include "04_matmul/sgemm/14_grouped_tiles.cuh"
#include "04_matmul/sgemm/beyond/01_tile_by_size.cuh"
#include "04_matmul/sgemm/beyond/02_split_k.cuh"
#include "04_matmul/sgemm/beyond/03_stream_k.cuh"
#include "04_matmul/sgemm/beyond/04_warp_specialized.cuh"
#include "04_matmul/sgemm/beyond/05_register_only.cuh"
#include "04_matmul/sgemm/chosen.cuh"
#include "04_matmul/sgemm/peers.cuh"
#include "04_matmul/sgemm/problem.cuh"
#include "04_matmul/shape_settings.hpp"
#include "04_matmul/study/loop_orders.cuh"
#include "04_matmul/study/roofline.cuh"
#include "04_matmul/study/sweeps.cuh"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/variant.cuh"

namespace matmul::sgemm {

std::vector<bench::Variant<Sgemm>> variants() {
  using bench::slow_above, bench::tagged, bench::needs_sm, bench::needs_exactly_sm;
  // For --only: @large are worth their time at 4096 and above, @end are what sweeps show.
  const std::vector<std::string> large = {"large"}, end = {"large", "end"};
  return {
      slow_above(bench::baseline<Sgemm>("sequential", "three loops, the innermost along rows",
                                        on_host(sgemm_sequential)),
                 4.0 * 4096 * 4096 * 4096),
      tagged(bench::cpu_variant<Sgemm>("openmp", "all cores, tiles in registers and caches",
                                       on_host(sgemm_openmp)),
             large),
      tagged(sgemm_openblas(), large),
      slow_above(
          sgemm_rung("naive", "a thread for each element: lanes run down a column", sgemm_naive),
          2.0 * 6144 * 6144 * 6144),
      tagged(sgemm_rung("coalesced", "lanes run along a row", sgemm_coalesced), large),
      tagged(sgemm_rung("tiled", "a block shares tiles of A and B in shared memory", sgemm_tiled),
             large),
      tagged(sgemm_rung("thread_tile_1d", "8 accumulators per thread: B's value serves 8 times",
                        sgemm_thread_tile_1d),
             large),
      tagged(sgemm_rung("register_tile", "8 x 8 accumulators per thread", sgemm_register_tile),
             large),
      tagged(sgemm_rung("vectorized", "float4 from global and shared memory, A's tile transposed",
                        sgemm_vectorized),
             large),
      tagged(sgemm_rung("warp_tile", "a compact tile for each warp: no bank conflicts",
                        sgemm_warp_tile),
             large),
      tagged(sgemm_rung("async_copy", "cp.async fills the next k tile meanwhile (sm_80)",
                        sgemm_async_copy, needs_sm(80)),
             large),
      tagged(sgemm_rung("large_tile", "16 x 8 accumulators per thread (sm_80)", sgemm_large_tile,
                        needs_sm(80)),
             large),
      tagged(sgemm_rung("register_double_buffer", "operands loaded one k ahead (sm_80)",
                        sgemm_register_double_buffer, needs_sm(80)),
             large),
      tagged(sgemm_rung("multistage", "three stages: copies two k tiles ahead (sm_80)",
                        sgemm_multistage, needs_sm(80)),
             large),
      tagged(sgemm_rung("grouped_tiles", "tiles in groups that share rows and columns in L2",
                        sgemm_grouped_tiles, needs_sm(80)),
             end),
      tagged(sgemm_rung("tile_by_size", "beyond: smaller tiles for a small C (sm_80)",
                        sgemm_tile_by_size, needs_sm(80)),
             end),
      tagged(sgemm_rung("split_k", "beyond: several blocks share a long sum (sm_80)", sgemm_split_k,
                        needs_sm(80)),
             end),
      tagged(sgemm_rung("stream_k", "beyond: all SMs share the last wave's tiles (sm_80)",
                        sgemm_stream_k, needs_sm(80)),
             end),
      tagged(sgemm_rung("warp_specialized", "beyond: four warps copy, eight only multiply (sm_90a)",
                        sgemm_warp_specialized, needs_exactly_sm(90)),
             end),
      tagged(sgemm_rung("register_only", "beyond: 8 x 8 accumulators per thread, no shared memory",
                        sgemm_register_only),
             large),
      sgemm_padded_copies(),
      tagged(sgemm_chosen(), end),
      tagged(sgemm_cublas(), end),
      sgemm_cublas_pedantic(),
      tagged(sgemm_cublas_tf32(), large),
      tagged(sgemm_multiply_add(), large),
  };
}

bench::Ladder<Sgemm> ladder() {
  bench::Ladder<Sgemm> ladder;
  ladder.name = Sgemm::name;
  ladder.variants = variants();
  ladder.show_gflops = true;
  ladder.settings = shape_settings();
  ladder.make = [](const bench::Settings& settings, const bench::RunSettings& run) {
    return std::make_unique<Sgemm>(shape_of(settings), run.seed, run.device.is_real_gpu());
  };
  ladder.memory = [](const bench::Settings& settings, const bench::RunSettings&) {
    return Sgemm::memory(shape_of(settings));
  };
  ladder.after = [](const bench::RunSettings& run, Sgemm& problem, const auto&,
                    const bench::ProblemReport& report) -> bench::Shown {
    const std::string roof = roof_text(problem.shape, Sgemm::kElementBytes, fp32_roof(run.device));
    if (run.verify_only) return {roof};
    return {roof, reuse_table(report, problem.shape, run.device)};
  };
  ladder.sweeps = {
      {"size", "size: the best rungs and cuBLAS from small to large, or those of --only",
       sweep_size<Sgemm>},
      {"quantization", "quantization: the same around multiples of a tile",
       sweep_quantization<Sgemm>},
      {"loops", "loops: three loops in three orders, on one core", sweep_loops,
       bench::Points::of_its_own}};
  return ladder;
}

}  // namespace matmul::sgemm

namespace ladders {

bench::Ladders sgemm() { return {matmul::sgemm::ladder()}; }

}  // namespace ladders
