// The index of quantizing, in reading order: one problem for each way to scale.
#include <memory>
#include <string>
#include <vector>

#include "04_matmul/kit/scaling.cuh"
#include "04_matmul/quantize/01_sequential.hpp"
#include "04_matmul/quantize/02_openmp.hpp"
#include "04_matmul/quantize/03_two_launches.cuh"
#include "04_matmul/quantize/04_backwards.cuh"
#include "04_matmul/quantize/05_row_block.cuh"
#include "04_matmul/quantize/06_half_warp.cuh"
#include "04_matmul/quantize/problem.cuh"
#include "04_matmul/shape_settings.hpp"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/variant.cuh"
#include "common/kit/check.cuh"

namespace matmul::quantize {

// Yardstick: the first half of x's bytes into q, which are as many.
template <class Problem>
bench::Variant<Problem> half_copy() {
  auto copy = bench::device_variant<Problem>(
      "half_copy", "yardstick: cudaMemcpyDeviceToDevice, half of x",
      [](Problem& p, cudaStream_t stream) {
        CUDA_CHECK(cudaMemcpyAsync(p.q.device_data(), p.x.device_data(), p.q.size(),
                                   cudaMemcpyDeviceToDevice, stream));
      });
  copy.kind = bench::Kind::yardstick;
  copy.bytes = [](const Problem& p) { return 2.0 * p.q.size(); };
  copy.check = [](const Problem& p) {
    const auto bytes = [](const auto* data) {
      return reinterpret_cast<const unsigned char*>(data);
    };
    return bench::compare(bytes(p.q.fetched()), bytes(p.x.pristine()), p.q.size(), 0.0);
  };
  return copy;
}

template <class Problem>
std::vector<bench::Variant<Problem>> variants() {
  constexpr Scaling kScaling = Problem::scaling;
  const auto rung = [](const char* name, const char* idea, auto run) {
    return bench::device_variant<Problem>(
        name, idea, [run](Problem& p, cudaStream_t stream) { run(p.device_operand(), stream); });
  };
  std::vector<bench::Variant<Problem>> all = {
      bench::baseline<Problem>("sequential", "maxima, scales, quotients: three loops",
                               [](Problem& p) { quantize_sequential(p.host_operand(), kScaling); }),
      bench::cpu_variant<Problem>("openmp", "all cores, bytes made by shifts",
                                  [](Problem& p) { quantize_openmp(p.host_operand(), kScaling); }),
      rung("two_launches", "one finds the scales, the next one rounds",
           quantize_two_launches<kScaling>)};
  if constexpr (kScaling == Scaling::tensor) {
    all.push_back(
        rung("backwards", "the second launch begins with what L2 still has", quantize_backwards));
  } else if constexpr (kScaling == Scaling::rows) {
    all.push_back(rung("row_block", "a block keeps its row in registers: x is read once",
                       quantize_row_block));
  } else {
    all.push_back(
        rung("half_warp", "16 lanes keep 128 elements: one read, no barrier", quantize_half_warp));
  }
  all.push_back(half_copy<Problem>());
  return all;
}

// Below the table: what rounding costs. All variants round alike, so the CPU's says it for all.
template <class Problem>
std::string error_line(Problem& problem) {
  problem.each_array([](auto& array) { array.reset(bench::Side::host); });
  quantize_openmp(problem.host_operand(), Problem::scaling);
  const RoundingError error = problem.rounding_error();
  return "error made by rounding: " + bench::with_decimals(100 * error.of_all, 1) +
         " % of x, root mean square;\nof the row that loses most " +
         bench::with_decimals(100 * error.of_worst_row, 1) + " %";
}

template <Scaling kScaling>
bench::Ladder<Quantize<kScaling>> ladder() {
  using Problem = Quantize<kScaling>;
  bench::Ladder<Problem> ladder;
  ladder.name = Problem::name;
  ladder.variants = variants<Problem>();
  for (const bench::Setting& setting : shape_settings()) {
    if (setting.name != "n") ladder.settings.push_back(setting);  // x is an A: m x k
  }
  const auto or_size = [](const bench::Settings& settings, const char* name) {
    return settings[settings.given(name) ? name : "size"];
  };
  ladder.make = [or_size](const bench::Settings& settings, const bench::RunSettings& run) {
    return std::make_unique<Problem>(or_size(settings, "m"), or_size(settings, "k"), run.seed);
  };
  ladder.memory = [or_size](const bench::Settings& settings, const bench::RunSettings&) {
    return Problem::memory(or_size(settings, "m"), or_size(settings, "k"));
  };
  ladder.after = [](const bench::RunSettings&, Problem& problem, const auto&,
                    const bench::ProblemReport&) -> bench::Shown { return {error_line(problem)}; };
  return ladder;
}

}  // namespace matmul::quantize

namespace ladders {

bench::Ladders quantize() {
  using matmul::Scaling, matmul::quantize::ladder;
  return {ladder<Scaling::tensor>(), ladder<Scaling::rows>(), ladder<Scaling::blocks>()};
}

}  // namespace ladders
