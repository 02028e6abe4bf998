// --sweep pieces: how many angles a thread should ask for at once.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "02_warp_divergence/polar/07_coarsened.cuh"
#include "02_warp_divergence/polar/problem.cuh"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/settings.hpp"
#include "common/kit/check.cuh"

namespace polar {

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
bench::Variant<Polar> angles_per_thread(const std::string& function) {
  return bench::device_variant<Polar>(
      std::to_string(kPieces) + " x " + function, "", [](Polar& p, cudaStream_t stream) {
        const std::int64_t grid = coarsened_grid(p.n, kPieces);
        polar_pieces_kernel<Math, kPieces>
            <<<grid, kCoarsenedBlock, 0, stream>>>(p.phi.device_data(), p.points_on_device(), p.n);
        CUDA_CHECK(cudaGetLastError());
      });
}

// The kernel of problem A's last rung with 1 to 8 angles per thread, accurate and fast.
inline bench::Shown sweep_pieces(const bench::RunSettings& run, const bench::Settings& settings,
                                 const std::vector<bench::Variant<Polar>>&) {
  Polar problem(settings["n"], run.seed);
  const std::vector<int> pieces = {1, 2, 3, 4, 6, 8};
  std::vector<bench::Variant<Polar>> variants = {
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
  const std::vector<double> ms = bench::time_sweep(run, problem, variants);
  bench::Sweep sweep{Polar::name, "pieces", {"pieces", "accurate_ms", "fast_ms"}, {}};
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    sweep.points.push_back({static_cast<double>(pieces[i]), ms[i], ms[pieces.size() + i]});
  }
  return {sweep};
}

}  // namespace polar
