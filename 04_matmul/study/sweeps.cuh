// --sweep size: the end of a ladder beside cuBLAS, from small to large. --sweep quantization: what
// a tile too many costs. --sweep few_tiles: a C that has few tiles, and a long k.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "04_matmul/kit/tile_origin.cuh"
#include "04_matmul/sgemm/kit/thread_tile.cuh"
#include "04_matmul/shape.hpp"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/memory_need.hpp"
#include "common/bench/options.hpp"
#include "common/bench/report.hpp"
#include "common/bench/settings.hpp"
#include "common/bench/variant.cuh"
#include "common/bench/verify.cuh"

namespace matmul {

// Those that are worth a column, as far as this machine runs them on this problem: of a whole
// ladder those tagged "end", or all where none of these runs; where --only has named rungs, which
// leaves the baseline out, all that it named.
template <class Problem>
std::vector<bench::Variant<Problem>> ends_of(const std::vector<bench::Variant<Problem>>& variants,
                                             Problem& problem, const bench::DeviceFacts& device) {
  const bench::WorkStream stream(device);
  const bool is_whole_ladder = std::any_of(
      variants.begin(), variants.end(),
      [](const bench::Variant<Problem>& variant) { return variant.kind == bench::Kind::baseline; });
  std::vector<bench::Variant<Problem>> ends, others;
  for (const auto& variant : variants) {
    const auto& tags = variant.tags;
    const bool is_end =
        !is_whole_ladder || std::find(tags.begin(), tags.end(), "end") != tags.end();
    if (!is_end && !ends.empty()) continue;
    const bench::Verdict verdict = bench::verify(problem, variant, device, stream.get());
    if (verdict.status != bench::Status::skipped) (is_end ? ends : others).push_back(variant);
  }
  return ends.empty() ? others : ends;
}

// Their TFLOP/s for each shape, with the columns that `facts` puts before them. A dash: too slow
// there, unless --slow was given.
template <class Problem, class Facts>
bench::Shown sweep_shapes(const bench::RunSettings& run, const std::string& name,
                          const std::vector<Shape>& shapes, std::vector<std::string> columns,
                          const std::vector<bench::Variant<Problem>>& variants, Facts facts) {
  bench::Sweep sweep{Problem::name, name, columns, {}};
  const bool is_real_gpu = run.device.is_real_gpu();
  Problem first(shapes.front(), run.seed, is_real_gpu);
  const auto ends = ends_of(variants, first, run.device);
  if (ends.empty()) return {};
  for (const auto& variant : ends) sweep.columns.push_back(variant.name + "_tflops");
  for (const Shape& shape : shapes) {
    Problem problem(shape, run.seed, is_real_gpu);
    std::vector<bench::Variant<Problem>> fast_enough;
    for (const auto& variant : ends) {
      if (run.slow || shape.flops() <= variant.slow_above) fast_enough.push_back(variant);
    }
    const std::vector<double> ms = bench::time_sweep(run, problem, fast_enough);
    std::vector<double> point = facts(shape);
    auto next = ms.begin();
    for (const auto& variant : ends) {
      const bool is_timed = run.slow || shape.flops() <= variant.slow_above;
      point.push_back(is_timed ? shape.flops() / (1e9 * *next++) : std::nan(""));
    }
    sweep.points.push_back(point);
  }
  return {sweep};
}

inline void refuse_sizes(const bench::Settings& settings) {
  for (const char* name : {"size", "m", "n", "k"}) {
    if (settings.given(name)) throw bench::UsageError("--sweep has sizes of its own");
  }
}

// m = n = k of --sweep size, rising. Where kernels run on the CPU, small ones must do.
inline std::vector<std::int64_t> sizes_of_sweep(bool is_real_gpu) {
  if (!is_real_gpu) return {128, 256};
  return {128, 256, 512, 1024, 2048, 3072, 4096, 6144, 8192};
}

template <class Problem>
bench::Shown sweep_size(const bench::RunSettings& run, const bench::Settings& settings,
                        const std::vector<bench::Variant<Problem>>& variants) {
  refuse_sizes(settings);
  std::vector<Shape> shapes;
  for (const std::int64_t n : sizes_of_sweep(run.device.is_real_gpu())) {
    shapes.push_back({n, n, n});
  }
  bench::require_memory(Problem::memory(shapes.back()), run.device);
  return sweep_shapes(run, "size", shapes, {"n", "flop_per_byte"}, variants, [](Shape s) {
    return std::vector<double>{static_cast<double>(s.n), s.intensity(Problem::kElementBytes)};
  });
}

// Of the large tile in C, and the waves in which the SMs get through them. used_percent is the part
// of all that work which ends up in C.
template <class Problem>
bench::Shown sweep_quantization(const bench::RunSettings& run, const bench::Settings& settings,
                                const std::vector<bench::Variant<Problem>>& variants) {
  refuse_sizes(settings);
  using T = sgemm::LargeTile;
  const int multiprocessors = run.device.multiprocessors;
  const bool is_real_gpu = run.device.is_real_gpu();
  std::vector<Shape> shapes;
  const std::int64_t k = is_real_gpu ? 2048 : 16;
  // Around a multiple of the tile: eight columns more are one tile more in every row of tiles.
  for (const std::int64_t n : {T::kTileN - 1, T::kTileN, T::kTileN + 1}) {
    shapes.push_back({16 * T::kTileM, 8 * n, k});
  }
  // Around multiples of tiles x SMs: one tile row of one tile more.
  if (is_real_gpu) {
    for (const int tiles : {multiprocessors - 1, multiprocessors, multiprocessors + 1,
                            2 * multiprocessors, 2 * multiprocessors + 1}) {
      shapes.push_back({T::kTileM, static_cast<std::int64_t>(tiles) * T::kTileN, k});
    }
  }
  return sweep_shapes(run, "quantization", shapes, {"m", "n", "tiles", "waves", "used_percent"},
                      variants, [multiprocessors](Shape s) {
                        const double tiles = tile_count<T::kTileM, T::kTileN>(s.m, s.n);
                        const double waves = std::ceil(tiles / multiprocessors);
                        return std::vector<double>{
                            static_cast<double>(s.m), static_cast<double>(s.n), tiles, waves,
                            100.0 * s.m * s.n / (waves * multiprocessors * T::kTileM * T::kTileN)};
                      });
}

// Shapes of which a large tile leaves most SMs idle; the last one has tiles enough, but too many
// for six waves of the usual ones.
template <class Problem>
bench::Shown sweep_few_tiles(const bench::RunSettings& run, const bench::Settings& settings,
                             const std::vector<bench::Variant<Problem>>& variants) {
  refuse_sizes(settings);
  std::vector<Shape> shapes = {{256, 256, 16384},  {384, 384, 8192},  {512, 512, 8192},
                               {512, 1024, 4096},  {704, 904, 3000},  {640, 640, 16384},
                               {768, 768, 8192},   {896, 1152, 6144}, {1536, 768, 4096},
                               {1024, 1024, 8192}, {448, 2688, 5376}, {5000, 5000, 5000}};
  if (!run.device.is_real_gpu()) shapes = {{72, 136, 520}};
  bench::require_memory(Problem::memory(shapes.back()), run.device);
  return sweep_shapes(run, "few_tiles", shapes, {"m", "n", "k"}, variants, [](Shape s) {
    return std::vector<double>{static_cast<double>(s.m), static_cast<double>(s.n),
                               static_cast<double>(s.k)};
  });
}

}  // namespace matmul
