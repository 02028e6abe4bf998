// The index of the fp32 half: every way to compute C = A B in single precision, in reading order.
#include <memory>
#include <string>
#include <utility>
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
#include "04_matmul/sgemm/chosen.cuh"
#include "04_matmul/sgemm/peers.cuh"
#include "04_matmul/sgemm/problem.cuh"
#include "04_matmul/shape_settings.hpp"
#include "04_matmul/study/roofline.cuh"
#include "04_matmul/study/sweeps.cuh"
#include "common/bench/device_facts.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/program.cuh"
#include "common/bench/variant.cuh"
#include "common/kit/launch.cuh"

namespace matmul::sgemm {

// A rung on the device: void run(a, b, c, m, n, k, stream).
template <class Run>
bench::Variant<Sgemm> sgemm_rung(const std::string& name, const std::string& idea, Run run,
                                 bench::Needs needs = {}) {
  return bench::device_variant<Sgemm>(
      name, idea,
      [run](Sgemm& p, cudaStream_t stream) {
        run(p.device_a(), p.device_b(), p.c.device_data(), static_cast<int>(p.shape.m),
            static_cast<int>(p.shape.n), static_cast<int>(p.shape.k), stream);
      },
      needs);
}

// Tagged for --only: @large are worth their time at 4096 and above, @end are what sweeps show.
inline bench::Variant<Sgemm> tagged(std::vector<std::string> tags, bench::Variant<Sgemm> variant) {
  variant.tags = std::move(tags);
  return variant;
}
inline bench::Variant<Sgemm> slow_above(double flops, bench::Variant<Sgemm> variant) {
  variant.slow_above = flops;
  return variant;
}

inline bench::Variant<Sgemm> sgemm_chosen() {
  const auto run = [](Sgemm& p, cudaStream_t stream) -> std::string {
    static const bench::DeviceFacts device = bench::query_device();
    static const bool has_sm_90a =
        bench::why_skipped(sgemm_rung("", "", sgemm_warp_specialized, bench::needs_exactly_sm(90)),
                           device)
            .empty();
    const auto [m, n, k] = p.shape;
    const float *a = p.device_a(), *b = p.device_b();
    float* const c = p.c.device_data();
    const bool vectors =
        kit::has_vector_rows(a, k) && kit::has_vector_rows(b, n) && kit::has_vector_rows(c, n);
    const Choice choice = choose(
        p.shape, {device.multiprocessors, device.compute_capability() >= 80, has_sm_90a, vectors});
    choice.multiply(a, b, c, static_cast<int>(m), static_cast<int>(n), static_cast<int>(k), stream);
    return choice.name;
  };
  return bench::chooser<Sgemm>("a library's choice: the rung by size, alignment and chip", run);
}

inline std::vector<bench::Variant<Sgemm>> variants() {
  using bench::cpu_variant, bench::needs_sm, bench::needs_exactly_sm;
  const auto on_host = [](auto multiply) {
    return [multiply](Sgemm& p) {
      multiply(p.a.host_data(), p.b.host_data(), p.c.host_data(), p.shape.m, p.shape.n, p.shape.k);
    };
  };
  const std::vector<std::string> large = {"large"}, end = {"large", "end"};
  return {
      slow_above(4.0 * 4096 * 4096 * 4096,
                 cpu_variant<Sgemm>("sequential", "three loops, the innermost along rows",
                                    on_host(sgemm_sequential))),
      tagged(large, cpu_variant<Sgemm>("openmp", "all cores, tiles in registers and caches",
                                       on_host(sgemm_openmp))),
      tagged(large, sgemm_openblas()),
      slow_above(
          2.0 * 6144 * 6144 * 6144,
          sgemm_rung("naive", "a thread for each element: lanes run down a column", sgemm_naive)),
      tagged(large, sgemm_rung("coalesced", "lanes run along a row", sgemm_coalesced)),
      tagged(large,
             sgemm_rung("tiled", "a block shares tiles of A and B in shared memory", sgemm_tiled)),
      tagged(large,
             sgemm_rung("thread_tile_1d", "8 accumulators a thread: B's value serves 8 times",
                        sgemm_thread_tile_1d)),
      tagged(large,
             sgemm_rung("register_tile", "8 x 8 accumulators a thread", sgemm_register_tile)),
      tagged(large,
             sgemm_rung("vectorized", "float4 from global and shared memory, A's tile transposed",
                        sgemm_vectorized)),
      tagged(large, sgemm_rung("warp_tile", "a compact tile for each warp: no bank conflicts",
                               sgemm_warp_tile)),
      tagged(large, sgemm_rung("async_copy", "cp.async fills the next k tile meanwhile (sm_80)",
                               sgemm_async_copy, needs_sm(80))),
      tagged(large, sgemm_rung("large_tile", "16 x 8 accumulators a thread (sm_80)",
                               sgemm_large_tile, needs_sm(80))),
      tagged(large, sgemm_rung("register_double_buffer", "operands loaded one k ahead (sm_80)",
                               sgemm_register_double_buffer, needs_sm(80))),
      tagged(large, sgemm_rung("multistage", "three stages: copies two k tiles ahead (sm_80)",
                               sgemm_multistage, needs_sm(80))),
      tagged(end, sgemm_rung("grouped_tiles", "tiles in groups that share rows and columns in L2",
                             sgemm_grouped_tiles, needs_sm(80))),
      tagged(end, sgemm_rung("tile_by_size", "beyond: smaller tiles for a small C (sm_80)",
                             sgemm_tile_by_size, needs_sm(80))),
      tagged(end, sgemm_rung("split_k", "beyond: several blocks share a long sum (sm_80)",
                             sgemm_split_k, needs_sm(80))),
      tagged(end, sgemm_rung("stream_k", "beyond: all SMs share the last wave's tiles (sm_80)",
                             sgemm_stream_k, needs_sm(80))),
      tagged(end,
             sgemm_rung("warp_specialized", "beyond: four warps copy, eight only multiply (sm_90a)",
                        sgemm_warp_specialized, needs_exactly_sm(90))),
      tagged(end, sgemm_chosen()),
      tagged(end, sgemm_cublas()),
      sgemm_cublas_pedantic(),
      tagged(large, sgemm_cublas_tf32()),
      tagged(large, sgemm_multiply_add()),
  };
}

bench::Ladder<Sgemm> ladder() {
  using Variants = std::vector<bench::Variant<Sgemm>>;
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
  ladder.before = [](bench::Program& program, const bench::Settings& settings) {
    print_roof(shape_of(settings), Sgemm::kElementBytes, fp32_roof(program.device()));
  };
  ladder.after = [](bench::Program& program, Sgemm& problem, const Variants&,
                    const bench::ProblemReport& report) {
    if (!program.verify_only()) print_reuse(report, problem.shape, program.device());
  };
  ladder.sweeps = {
      {"size", "size: the best rungs and cuBLAS from small to large",
       [](bench::Program& program, const bench::Settings& settings, const Variants& variants) {
         refuse_sizes(settings);
         sweep_size(program, variants);
       }},
      {"quantization", "quantization: the same around multiples of a tile",
       [](bench::Program& program, const bench::Settings& settings, const Variants& variants) {
         refuse_sizes(settings);
         sweep_quantization(program, variants);
       }}};
  return ladder;
}

}  // namespace matmul::sgemm

namespace ladders {

bench::Ladders sgemm() { return {matmul::sgemm::ladder()}; }

}  // namespace ladders
