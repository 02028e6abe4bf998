// --sweep percent and --sweep run: how the data decides between the ways to treat a branch.
// --sweep steps: from which length of its body on an `if` becomes a branch.
// --sweep pieces: how many angles a thread should ask for at once.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <string>
#include <vector>

#include "02_warp_divergence/branch/problem.cuh"
#include "02_warp_divergence/branch/variants.cuh"
#include "02_warp_divergence/demos/predication.cuh"
#include "02_warp_divergence/polar/07_coarsened.cuh"
#include "02_warp_divergence/polar/problem.cuh"
#include "02_warp_divergence/polar/variants.cuh"
#include "common/cuda_check.cuh"
#include "common/harness.cuh"
#include "common/program.cuh"

// The rungs of problem B that run on the device.
inline std::vector<common::Variant<Branch>> branch_device_rungs() {
  std::vector<common::Variant<Branch>> rungs;
  for (const auto& variant : branch_variants()) {
    if (variant.place == common::Place::device && variant.kind == common::Kind::rung) {
      rungs.push_back(variant);
    }
  }
  return rungs;
}

// Median milliseconds of every rung for each share of expensive elements, or each length of their
// runs.
inline void sweep_data(common::Program& program, const std::string& what, std::int64_t n,
                       std::int64_t percent, std::int64_t run) {
  const auto rungs = branch_device_rungs();
  common::Sweep sweep{Branch::name, what, {what}, {}};
  for (const auto& rung : rungs) sweep.columns.push_back(rung.name);
  const std::vector<std::int64_t> values =
      what == "percent" ? std::vector<std::int64_t>{0, 1, 2, 5, 10, 20, 50, 100}
                        : std::vector<std::int64_t>{1, 2, 4, 8, 16, 32, 64, 256, 1024};
  for (const std::int64_t value : values) {
    Branch problem(n, what == "percent" ? value : percent, what == "run" ? value : run,
                   program.seed());
    std::vector<double> point = common::time_sweep(program, problem, rungs);
    point.insert(point.begin(), static_cast<double>(value));
    sweep.points.push_back(point);
  }
  program.add(sweep);
}

struct Fast {
  __device__ static float2 point(float angle) {
    float2 point;
    __sincosf(angle, &point.y, &point.x);
    return point;
  }
};
template <class Math, int kPieces>
__global__ void __launch_bounds__(kCoarsenedBlock)
    polar_pieces_kernel(const float* phi, float2* z, std::int64_t n) {
  coarsened_points<Math, kPieces>(phi, z, n);
}

template <int kPieces, class Math>
common::Variant<Polar> angles_per_thread(const std::string& function) {
  return common::on_device<Polar>(
      std::to_string(kPieces) + " x " + function, "", [](Polar& p, cudaStream_t stream) {
        const std::int64_t grid = coarsened_grid(p.n, kPieces);
        polar_pieces_kernel<Math, kPieces>
            <<<grid, kCoarsenedBlock, 0, stream>>>(p.phi.on_device(), p.points_on_device(), p.n);
        CUDA_CHECK(cudaGetLastError());
      });
}

// The kernel of problem A's last rung with 1 to 8 angles a thread, accurate and fast.
inline void sweep_pieces(common::Program& program, Polar& problem) {
  const std::vector<int> pieces = {1, 2, 3, 4, 6, 8};
  std::vector<common::Variant<Polar>> variants = {
      angles_per_thread<1, Accurate>("sincosf"),
      angles_per_thread<2, Accurate>("sincosf"),
      angles_per_thread<3, Accurate>("sincosf"),
      angles_per_thread<4, Accurate>("sincosf"),
      angles_per_thread<6, Accurate>("sincosf"),
      angles_per_thread<8, Accurate>("sincosf"),
      with_fast_bounds(angles_per_thread<1, Fast>("__sincosf")),
      with_fast_bounds(angles_per_thread<2, Fast>("__sincosf")),
      with_fast_bounds(angles_per_thread<3, Fast>("__sincosf")),
      with_fast_bounds(angles_per_thread<4, Fast>("__sincosf")),
      with_fast_bounds(angles_per_thread<6, Fast>("__sincosf")),
      with_fast_bounds(angles_per_thread<8, Fast>("__sincosf"))};
  const std::vector<double> ms = common::time_sweep(program, problem, variants);
  common::Sweep sweep{Polar::name, "pieces", {"pieces", "accurate_ms", "fast_ms"}, {}};
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    sweep.points.push_back({static_cast<double>(pieces[i]), ms[i], ms[pieces.size() + i]});
  }
  program.add(sweep);
}

// Cycles of an `if` and of a choice, by the length of what stands in it: demos/predication.cuh.
inline void sweep_steps(common::Program& program) {
  if (!program.device().available) {
    throw common::UsageError("a sweep needs a GPU: " + program.device().reason);
  }
  common::Sweep sweep{Branch::name, "steps", {"steps", "if_0", "if_1", "if_32", "select"}, {}};
  add_predication_point<1>(sweep);
  add_predication_point<2>(sweep);
  add_predication_point<4>(sweep);
  add_predication_point<8>(sweep);
  add_predication_point<16>(sweep);
  add_predication_point<32>(sweep);
  add_predication_point<64>(sweep);
  program.add(sweep);
}
