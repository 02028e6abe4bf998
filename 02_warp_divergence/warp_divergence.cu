// Warp divergence, end to end: what a warp does when its lanes disagree, and how to make them
// agree.
//
// Build without make:
//   nvcc -O3 -std=c++17 -I. -Xcompiler -fopenmp 02_warp_divergence/warp_divergence.cu
// Problem A is in polar/, problem B in branch/, each with its variants.cuh; the lesson is
// README.md.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "02_warp_divergence/branch/problem.cuh"
#include "02_warp_divergence/branch/variants.cuh"
#include "02_warp_divergence/demos/barrier.cuh"
#include "02_warp_divergence/demos/block_votes.cuh"
#include "02_warp_divergence/demos/syncwarp.cuh"
#include "02_warp_divergence/demos/votes.cuh"
#include "02_warp_divergence/fast_math.cuh"
#include "02_warp_divergence/polar/problem.cuh"
#include "02_warp_divergence/polar/variants.cuh"
#include "02_warp_divergence/sweeps.cuh"
#include "common/harness.cuh"
#include "common/program.cuh"

namespace {

void run_demo(const common::Program& frame, const std::string& demo) {
  if (!frame.device().available) {
    throw common::UsageError("a demo needs a GPU: " + frame.device().reason);
  }
  if (demo == "votes") votes_demo();
  if (demo == "block_votes") block_votes_demo();
  if (demo == "barrier") barrier_demo();
  if (demo == "syncwarp") syncwarp_demo();
}

template <class Problem>
bool has_variant(const std::vector<common::Variant<Problem>>& variants, const std::string& name) {
  return std::any_of(variants.begin(), variants.end(),
                     [&](const auto& variant) { return variant.name == name; });
}

}  // namespace

int main(int argc, char** argv) {
  std::int64_t n = 0, percent = 2, run = 1, step = 1009;
  std::string sweep, demo;
  common::Program program("02_warp_divergence",
                          "lanes of a warp that disagree, and how to make them agree");
  program.options().add_integer("n", "angles (default 10000000), elements (default 4000000)", &n, 1,
                                INT64_MAX);
  program.options().add_integer("percent", "expensive elements of the branch (default 2)", &percent,
                                0, 100);
  program.options().add_integer("run", "neighbours that take the same path (default 1)", &run, 1,
                                INT64_MAX);
  program.options().add_integer("step", "fast math: try every N-th float (default 1009)", &step, 1,
                                INT32_MAX);
  program.options().add_choice("sweep", {"percent", "run", "steps", "pieces"},
                               "the data of the branch; length of a body; angles a thread", &sweep);
  program.options().add_choice("demo", {"votes", "block_votes", "barrier", "syncwarp"},
                               "show what one of these does", &demo);

  return program.main(argc, argv, [&](common::Program& frame) {
    const auto polar = frame.select(Polar::name, polar_variants());
    const auto branch = frame.select(Branch::name, branch_variants());
    if (!frame.selection_done()) return;
    if (!demo.empty()) {
      run_demo(frame, demo);
      return;
    }
    const std::int64_t angles = n > 0 ? n : 10'000'000;
    const std::int64_t elements = n > 0 ? n : 4'000'000;
    frame.require_memory(std::max(Polar::host_bytes(angles), Branch::host_bytes(elements)),
                         std::max(Polar::device_bytes(angles), Branch::device_bytes(elements)));
    frame.print_machine();
    if (sweep == "percent" || sweep == "run") {
      sweep_data(frame, sweep, elements, percent, run);
    } else if (sweep == "steps") {
      sweep_steps(frame);
    } else if (sweep == "pieces") {
      Polar problem(angles, frame.seed());
      sweep_pieces(frame, problem);
    } else {
      if (!polar.empty()) {
        Polar problem(angles, frame.seed());
        run_problem(frame, problem, polar);
      }
      if (has_variant(polar, "fast_math") && !frame.verify_only() && frame.device().available) {
        report_fast_math(frame, step);
      }
      if (!branch.empty()) {
        Branch problem(elements, percent, run, frame.seed());
        run_problem(frame, problem, branch);
      }
    }
  });
}
