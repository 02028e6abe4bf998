// What --plot draws of a problem: its rungs under the roofline, and its rates by size.
#pragma once

#include <cstddef>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "04_matmul/roofline.cuh"
#include "04_matmul/sgemm/problem.cuh"
#include "04_matmul/svg.hpp"
#include "common/options.hpp"
#include "common/report.hpp"

constexpr double kMostGflops = 2e6;  // at the top of the charts

// The rungs on the device, at the intensity of their problem; `each`: bytes of an element. Without
// a clock there is no roof, and the rungs stand alone.
inline std::string roofline_chart(const common::ProblemReport& report, Shape shape, int each,
                                  Roof roof) {
  LogChart chart(report.problem + ": FLOP per byte of device memory", "GFLOP/s", 1, 4096, 10,
                 kMostGflops);
  if (roof.ridge() > 0) {
    chart.line("roof", {{1, roof.at(1)}, {roof.ridge(), roof.gflops}, {4096, roof.gflops}});
  }
  for (const common::Row& row : report.rows) {
    if (row.place == "device" && row.kind != "yardstick" && row.gflops > 0) {
      chart.point(row.name, shape.intensity(each), row.gflops);
    }
  }
  return chart.svg();
}

// The columns NAME_tflops of a sweep over n.
inline std::string size_chart(const common::Sweep& sweep) {
  LogChart chart(sweep.problem + ": m = n = k", "GFLOP/s", 128, 8192, 10, kMostGflops);
  for (std::size_t column = 2; column < sweep.columns.size(); ++column) {
    std::vector<std::pair<double, double>> line;
    for (const auto& point : sweep.points) line.push_back({point[0], 1e3 * point[column]});
    const std::string& title = sweep.columns[column];
    chart.line(title.substr(0, title.rfind('_')), line);
  }
  return chart.svg();
}

// One chart above the other. Nothing if there is no name.
inline void write_plot(const std::string& file, const std::vector<std::string>& charts) {
  if (file.empty()) return;
  std::ofstream out(file);
  out << stacked(charts);
  if (!out.flush()) throw common::UsageError("--plot: cannot write " + file);
}
