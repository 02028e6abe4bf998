// --plot FILE: draws the rungs of each ladder under its roofline, and its end by size.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "04_matmul/shape.hpp"
#include "04_matmul/study/roofline.cuh"
#include "04_matmul/study/svg.hpp"
#include "04_matmul/study/sweeps.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/options.hpp"
#include "common/bench/output_file.hpp"
#include "common/bench/program.cuh"
#include "common/bench/report.hpp"

namespace matmul {

constexpr double kMostGflops = 2e6;  // at the top of the charts

// The rungs on the device, at the intensity of their problem; `each`: bytes of an element. Without
// a clock there is no roof, and the rungs stand alone.
inline std::string roofline_chart(const bench::ProblemReport& report, Shape shape, int each,
                                  Roof roof) {
  LogChart chart(report.problem + ": FLOP per byte of device memory", "GFLOP/s", 1, 4096, 10,
                 kMostGflops);
  if (roof.ridge() > 0) {
    chart.line("roof", {{1, roof.at(1)}, {roof.ridge(), roof.gflops}, {4096, roof.gflops}});
  }
  for (const bench::Row& row : report.rows) {
    if (row.place == "device" && row.kind != "yardstick" && row.gflops > 0) {
      chart.point(row.name, shape.intensity(each), row.gflops);
    }
  }
  return chart.svg();
}

// The columns NAME_tflops of a sweep over n.
inline std::string size_chart(const bench::Sweep& sweep) {
  LogChart chart(sweep.problem + ": m = n = k", "GFLOP/s", 128, 8192, 10, kMostGflops);
  for (std::size_t column = 2; column < sweep.columns.size(); ++column) {
    std::vector<std::pair<double, double>> line;
    for (const auto& point : sweep.points) line.push_back({point[0], 1e3 * point[column]});
    const std::string& title = sweep.columns[column];
    chart.line(title.substr(0, title.rfind('_')), line);
  }
  return chart.svg();
}

// The option, and the charts of the ladders that are drawn.
class Plot {
 public:
  explicit Plot(bench::Program& program) {
    program.options().add_value("plot", "FILE",
                                "write the rooflines and the sweeps of sizes as SVG",
                                [state = state_, &program](const std::string& file) {
                                  program.time_every_place();
                                  bench::require_writable("plot", file);
                                  state->file = file;
                                });
    program.at_end([state = state_](bench::Program&) {
      if (!state->file.empty()) bench::write_file(state->file, stacked(state->charts));
    });
  }

  // The same ladder, drawn as well. Roof roof_of(device).
  template <class Problem, class RoofOf>
  bench::Ladder<Problem> of(bench::Ladder<Problem> ladder, RoofOf roof_of) const {
    using Variants = std::vector<bench::Variant<Problem>>;
    ladder.after = [state = state_, roof_of, after = ladder.after](
                       bench::Program& program, Problem& problem, const Variants& variants,
                       const bench::ProblemReport& report) {
      if (after) after(program, problem, variants, report);
      if (state->file.empty() || program.verify_only()) return;
      state->charts.push_back(
          roofline_chart(report, problem.shape, Problem::kElementBytes, roof_of(program.device())));
      const bench::Sweep sizes = sweep_size(program, variants);
      if (!sizes.points.empty()) state->charts.push_back(size_chart(sizes));
    };
    for (auto& sweep : ladder.sweeps) {
      sweep.run = [state = state_, run = sweep.run](bench::Program& program,
                                                    const bench::Settings& settings,
                                                    const Variants& variants) {
        if (!state->file.empty()) throw bench::UsageError("--plot runs the sweep itself");
        run(program, settings, variants);
      };
    }
    return ladder;
  }

 private:
  struct State {
    std::string file;
    std::vector<std::string> charts;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace matmul
