// The index of this problem: every way to compute the softmax of rows, in reading order.
#include <cstdint>
#include <memory>
#include <string>

#include "07_flash_attention/softmax/01_sequential.hpp"
#include "07_flash_attention/softmax/02_openmp.hpp"
#include "07_flash_attention/softmax/03_naive.cuh"
#include "07_flash_attention/softmax/04_safe.cuh"
#include "07_flash_attention/softmax/05_online.cuh"
#include "07_flash_attention/softmax/06_cached.cuh"
#include "07_flash_attention/softmax/07_warp.cuh"
#include "07_flash_attention/softmax/chosen.cuh"
#include "07_flash_attention/softmax/problem.cuh"
#include "07_flash_attention/softmax/study/report.cuh"
#include "07_flash_attention/softmax/study/sweep_columns.cuh"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/variant.cuh"
#include "common/bench/yardsticks.cuh"
#include "common/kit/check.cuh"

namespace softmax {

bench::Ladder<Softmax> softmax_ladder() {
  using bench::cpu_variant, bench::device_variant;
  const auto naive_rung = [](Softmax& p, cudaStream_t stream) {
    if (p.overflows()) throw kit::Skip("overflows with these inputs");
    naive(p.x.device_data(), p.y.device_data(), p.rows, p.columns, stream);
  };
  bench::Ladder<Softmax> ladder;
  ladder.name = Softmax::name;
  ladder.variants = {
      bench::baseline<Softmax>("sequential", "three loops over each row", on_host(sequential)),
      cpu_variant<Softmax>("openmp", "all cores, vector instructions", on_host(openmp)),
      device_variant<Softmax>("naive", "as the formula is written: large inputs overflow",
                              naive_rung),
      device_variant<Softmax>("safe", "the maximum first, in a pass of its own", on_device(safe)),
      device_variant<Softmax>("online", "the maximum and the sum in one pass", on_device(online)),
      device_variant<Softmax>("cached", "a row that fits is kept in shared memory",
                              on_device(cached)),
      device_variant<Softmax>("warp", "a short row is kept in the registers of a warp",
                              on_device(warp)),
      softmax_chooser(),
      bench::device_copy(&Softmax::x, &Softmax::y),
  };
  ladder.settings = {
      bench::number("rows", "of the softmax alone", 512, 16, 1, INT32_MAX),
      bench::number("columns", "of the softmax alone", 1 << 18, 1'000, 1, Softmax::kMostColumns)};
  ladder.make = [](const bench::Settings& settings, const bench::RunSettings& run) {
    return std::make_unique<Softmax>(settings["rows"], settings["columns"], run.seed);
  };
  ladder.memory = [](const bench::Settings& settings, const bench::RunSettings&) {
    return Softmax::memory(settings["rows"], settings["columns"]);
  };
  ladder.sweeps = {{"columns", "columns: softmax by length of the rows", sweep_columns}};
  ladder.after = accesses_and_large_inputs;
  return ladder;
}

}  // namespace softmax

namespace ladders {

bench::Ladders softmax() { return {softmax::softmax_ladder()}; }

}  // namespace ladders
