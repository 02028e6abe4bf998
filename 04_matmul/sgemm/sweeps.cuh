// --sweep size: the ladder's end and cuBLAS from small to large. --sweep quantization: what a tile
// too many costs.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "04_matmul/sgemm/problem.cuh"
#include "04_matmul/sgemm/variants.cuh"
#include "common/harness.cuh"
#include "common/program.cuh"

// The last four rungs and cuBLAS, as far as this machine runs them.
inline std::vector<common::Variant<Sgemm>> ends_of_ladder(const common::DeviceFacts& device) {
  std::vector<common::Variant<Sgemm>> chosen;
  for (const char* name : {"tuned", "split_sum", "shared_round", "copy_warps", "cublas"}) {
    for (const auto& variant : sgemm_variants()) {
      if (variant.name == name && common::why_skipped(variant, device).empty()) {
        chosen.push_back(variant);
      }
    }
  }
  return chosen;
}

// Their TFLOP/s for each shape, with the columns that `facts` puts before them.
template <class Facts>
common::Sweep sweep_shapes(common::Program& program, const std::string& name,
                           const std::vector<Shape>& shapes, std::vector<std::string> columns,
                           Facts facts) {
  const auto variants = ends_of_ladder(program.device());
  for (const auto& variant : variants) columns.push_back(variant.name + "_tflops");
  common::Sweep sweep{Sgemm::name, name, columns, {}};
  for (const Shape& shape : shapes) {
    Sgemm problem(shape, program.seed(), program.device().keeps_time());
    const std::vector<double> ms = common::time_sweep(program, problem, variants);
    std::vector<double> point = facts(shape);
    for (const double t : ms) point.push_back(shape.flops() / (1e9 * t));
    sweep.points.push_back(point);
  }
  program.add(sweep);
  return sweep;
}

// m = n = k of --sweep size, rising. Where kernels run on the CPU, small ones must do.
inline std::vector<std::int64_t> sizes_of_sweep(bool times_are_real) {
  if (!times_are_real) return {128, 256};
  return {128, 256, 512, 1024, 2048, 3072, 4096, 6144, 8192};
}

inline common::Sweep sweep_size(common::Program& program) {
  std::vector<Shape> shapes;
  for (const std::int64_t n : sizes_of_sweep(program.device().keeps_time())) {
    shapes.push_back({n, n, n});
  }
  return sweep_shapes(program, "size", shapes, {"n", "flop_per_byte"}, [](Shape s) {
    return std::vector<double>{static_cast<double>(s.n), s.intensity()};
  });
}

// Tiles of the rung `tuned` in C, and the rounds in which the SMs get through them. used_percent
// is the part of all that work which ends up in C.
inline void sweep_quantization(common::Program& program) {
  using T = LargeTiling;
  const int multiprocessors = program.device().multiprocessors;
  const bool real = program.device().keeps_time();
  std::vector<Shape> shapes;
  const std::int64_t k = real ? 2048 : 16;
  // Around a multiple of the tile: eight columns more are one tile more in every row of tiles.
  for (const std::int64_t n : {T::kCols - 1, T::kCols, T::kCols + 1}) {
    shapes.push_back({16 * T::kRows, 8 * n, k});
  }
  // Around multiples of tiles x SMs: one tile row of one tile more.
  if (real) {
    for (const int tiles : {multiprocessors - 1, multiprocessors, multiprocessors + 1,
                            2 * multiprocessors, 2 * multiprocessors + 1}) {
      shapes.push_back({T::kRows, static_cast<std::int64_t>(tiles) * T::kCols, k});
    }
  }
  sweep_shapes(program, "quantization", shapes, {"m", "n", "tiles", "rounds", "used_percent"},
               [multiprocessors](Shape s) {
                 const double tiles = tiles_of<T::kRows, T::kCols>(s.m, s.n);
                 const double rounds = std::ceil(tiles / multiprocessors);
                 return std::vector<double>{
                     static_cast<double>(s.m), static_cast<double>(s.n), tiles, rounds,
                     100.0 * s.m * s.n / (rounds * multiprocessors * T::kRows * T::kCols)};
               });
}
