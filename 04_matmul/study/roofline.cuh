// What bounds a product, and what each rung asks of memory: printed below the table of a run.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "04_matmul/shape.hpp"
#include "common/bench/device_facts.cuh"
#include "common/bench/lines.hpp"
#include "common/bench/report.hpp"

namespace matmul {

// The two limits of a device for a product: what it can compute, 1e9 operations a second, and what
// it can move, 1e9 bytes a second. 0 if unknown.
struct Roof {
  double gflops, gbps;

  // Operations per byte at which the two meet: left of it memory is the limit, right of it
  // arithmetic. 0 if unknown.
  double ridge() const { return gflops > 0 && gbps > 0 ? gflops / gbps : 0; }
  // The most GFLOP/s at this many operations per byte of device memory.
  double at(double intensity) const { return std::min(gflops, intensity * gbps); }
};

// For sums and products in fp32, without tensor cores.
inline Roof fp32_roof(const bench::DeviceFacts& device) {
  return {device.peak_fp32_gflops, device.peak_bandwidth_gbps};
}

// For products of bf16 on tensor cores.
inline Roof bf16_roof(const bench::DeviceFacts& device) {
  return {peak_bf16_gflops(device), device.peak_bandwidth_gbps};
}

// What bounds a product. each: bytes of an element.
inline std::string roof_text(Shape shape, int each, Roof roof) {
  std::string text =
      bench::formatted("\n%.4g GFLOP over %.4g MB that must move: %.4g FLOP/byte",
                       shape.flops() / 1e9, shape.bytes(each) / 1e6, shape.intensity(each));
  if (roof.ridge() > 0) {
    const bool by_memory = shape.intensity(each) < roof.ridge();
    text += bench::formatted(";\nthe ridge is at %.3g, so %s bounds it: at most %.4g TFLOP/s",
                             roof.ridge(), by_memory ? "memory" : "arithmetic",
                             roof.at(shape.intensity(each)) / 1e3);
  }
  return text + "\n";
}

// How often a rung uses what it loads. A tile of C of rows x cols reads (rows + cols) k elements
// from global memory for rows cols k multiply-adds; a thread's accumulators do the same to
// shared memory.
struct Reuse {
  std::string variant;
  int tile_rows, tile_cols;      // that share what is read from global memory
  int thread_rows, thread_cols;  // of a thread, from shared memory; 0: shared memory is not used

  double global_loads(Shape s) const { return loads(s, tile_rows, tile_cols); }  // of floats
  double shared_loads(Shape s) const {
    return thread_rows == 0 ? 0 : loads(s, thread_rows, thread_cols);
  }
  // Of tiles that fit: floats loaded, all lanes added up.
  static double loads(Shape s, int rows, int cols) {
    return 1.0 * s.m * s.n * s.k * (1.0 / rows + 1.0 / cols);
  }
};

inline std::vector<Reuse> sgemm_reuse() {
  return {{"naive", 1, 1, 0, 0},
          {"coalesced", 1, 1, 0, 0},
          {"tiled", 32, 32, 1, 1},
          {"thread_tile_1d", 64, 64, 8, 1},
          {"register_tile", 128, 128, 8, 8},
          {"vectorized", 128, 128, 8, 8},
          {"warp_tile", 128, 128, 8, 8},
          {"async_copy", 128, 128, 8, 8},
          {"large_tile", 128, 256, 16, 8},
          {"register_double_buffer", 128, 256, 16, 8},
          {"multistage", 128, 256, 16, 8},
          {"grouped_tiles", 128, 256, 16, 8}};
}

// A second table: the reuse of each rung of the report, beside what it reached.
inline std::string reuse_table(const bench::ProblemReport& report, Shape shape,
                               const bench::DeviceFacts& device) {
  std::string table;
  for (const Reuse& reuse : sgemm_reuse()) {
    for (const bench::Row& row : report.rows) {
      if (row.name != reuse.variant) continue;
      if (table.empty()) {
        table = "\nFLOP for each byte that is read from global and from shared memory\n";
        table += bench::formatted("%-22s %9s %10s %7s %7s %8s %7s\n", "variant", "tile",
                                  "per thread", "global", "shared", "TFLOP/s", "% peak");
      }
      const auto pair = [](int rows, int cols) {
        return std::to_string(rows) + " x " + std::to_string(cols);
      };
      const double shared = reuse.shared_loads(shape);
      table += bench::formatted(
          "%-22s %9s %10s %7s %7s %8s %7s\n", row.name.c_str(),
          pair(reuse.tile_rows, reuse.tile_cols).c_str(),
          shared > 0 ? pair(reuse.thread_rows, reuse.thread_cols).c_str() : "1 x 1",
          bench::short_number(shape.flops() / (4 * reuse.global_loads(shape))).c_str(),
          shared > 0 ? bench::short_number(shape.flops() / (4 * shared)).c_str() : "-",
          device.is_real_gpu() ? bench::short_number(row.gflops / 1e3).c_str() : "-",
          bench::with_decimals(row.percent_of_roof, 1).c_str());
    }
  }
  return table;
}

}  // namespace matmul
