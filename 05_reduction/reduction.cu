// Chapter 05, reduction and scan: many numbers become one, or as many sums of all before them.
//
// Build without make:  nvcc -O3 -std=c++17 -I. -Xcompiler -fopenmp 05_reduction/reduction.cu
// The ways to do it are listed in the variants.cuh of each problem; the lesson is README.md.
#include <algorithm>
#include <cstdint>
#include <string>

#include "05_reduction/affine/variants.cuh"
#include "05_reduction/scan/variants.cuh"
#include "05_reduction/sum/variants.cuh"
#include "05_reduction/summation_error.cuh"
#include "05_reduction/sweeps.cuh"
#include "common/harness.cuh"
#include "common/program.cuh"

namespace {

// Makes the problem only if there is something to run: its arrays may be large.
template <class Problem>
void run(common::Program& frame, const std::vector<common::Variant<Problem>>& variants,
         std::int64_t n) {
  if (variants.empty()) return;
  Problem problem(n, frame.seed());
  common::run_problem(frame, problem, variants);
}

}  // namespace

int main(int argc, char** argv) {
  std::int64_t n = 1 << 21;
  std::string sweep;
  common::Program program("05_reduction", "sums, reductions in order, and prefix sums");
  program.options().add_integer("n", "number of elements (default 2097152)", &n, 1,
                                std::int64_t{1} << 40);
  program.options().add_choice(
      "sweep", {"tiles", "size"},
      "time the tuned sum by tiles a block, or sum and scan by size up to n", &sweep);

  return program.main(argc, argv, [&](common::Program& frame) {
    const auto sums = frame.select(Sum::name, sum_variants());
    const auto maxima = frame.select(Max::name, extremum_variants<Max>());
    const auto positions = frame.select(ArgMax::name, extremum_variants<ArgMax>());
    const auto maps = frame.select(Affine::name, affine_variants());
    const auto scans = frame.select(Scan::name, scan_variants());
    if (!frame.selection_done()) return;

    double host_bytes = Sum::host_bytes(n), device_bytes = Sum::device_bytes(n);
    const auto require = [&](double host, double device) {
      host_bytes = std::max(host_bytes, host);
      device_bytes = std::max(device_bytes, device);
    };
    if (!maps.empty()) require(Affine::host_bytes(n), Affine::device_bytes(n));
    if (!scans.empty() || !sweep.empty()) require(Scan::host_bytes(n), Scan::device_bytes(n));
    frame.require_memory(host_bytes, device_bytes);

    frame.print_machine();
    if (sweep == "tiles") {
      sweep_tiles(frame, n);
    } else if (sweep == "size") {
      sweep_sizes(frame, n);
    } else {
      run(frame, sums, n);
      run(frame, maxima, n);
      run(frame, positions, n);
      run(frame, maps, n);
      run(frame, scans, n);
      const bool all_sums = sums.size() == sum_variants().size();
      if (all_sums && !frame.verify_only()) frame.add(summation_errors(frame, n));
    }
  });
}
