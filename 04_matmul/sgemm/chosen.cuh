// The last page of the ladder: which rung a library would take for a product.
//
// On Hopper a product goes to warp_specialized, with padded copies where rows ask for them, unless
// it is so small that smaller tiles are done sooner. On other chips large products go to the rung
// that is fastest there. A C of less than a wave of large tiles gets smaller ones; where even these
// are too few for the SMs, long sums over k are split.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "04_matmul/kit/tile_origin.cuh"
#include "04_matmul/sgemm/09_warp_tile.cuh"
#include "04_matmul/sgemm/14_grouped_tiles.cuh"
#include "04_matmul/sgemm/beyond/01_tile_by_size.cuh"
#include "04_matmul/sgemm/beyond/02_split_k.cuh"
#include "04_matmul/sgemm/beyond/03_stream_k.cuh"
#include "04_matmul/sgemm/beyond/04_warp_specialized.cuh"
#include "04_matmul/sgemm/beyond/06_padded_copies.cuh"
#include "04_matmul/sgemm/kit/stream_k_plan.cuh"
#include "04_matmul/sgemm/kit/thread_tile.cuh"
#include "04_matmul/sgemm/problem.cuh"
#include "04_matmul/shape.hpp"
#include "common/bench/device_facts.cuh"
#include "common/bench/variant.cuh"
#include "common/bench/verify.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/workspace.cuh"

namespace matmul::sgemm {

// What the choice depends on beside the size.
struct Circumstances {
  int multiprocessors;
  bool has_cp_async;     // sm_80 or newer
  bool has_sm_90a;       // sm_90a, and compiled for it
  bool has_vector_rows;  // of all three matrices
};

struct Choice {
  const char* name;  // of the rung
  void (*multiply)(const float* a, const float* b, float* c, int m, int n, int k,
                   cudaStream_t stream);  // null for padded_copies, which needs memory
};

// How many microseconds warp_specialized should take, with copies unless has_vector_rows. Its
// numbers, and those below, were measured on an H200; on another chip both times change alike.
inline double specialized_us(Shape shape, bool has_vector_rows) {
  using T = SpecializedTile;
  const auto [m, n, k] = shape;
  const double tiles = tile_count<T::kTileM, T::kTileN>(m, n), teraflops = 50;
  const double copied_bytes = 8.0 * (m * k + k * n + m * n), bytes_of_us = 3.5e6;
  return 10 + 2e-6 * tiles * T::kTileM * T::kTileN * k / teraflops +
         (has_vector_rows ? 0 : 6 + copied_bytes / bytes_of_us);
}
// And how many tile_by_size or split_k should take.
inline double smaller_tiles_us(Shape shape, bool has_vector_rows) {
  using T = TinyTile;
  const auto [m, n, k] = shape;
  const double tiles = tile_count<T::kTileM, T::kTileN>(m, n);
  const double teraflops = has_vector_rows ? 40 : 19;
  return 4 + 2e-6 * tiles * T::kTileM * T::kTileN * k / teraflops;
}

inline Choice choose(Shape shape, const Circumstances& at) {
  if (!at.has_cp_async) return {"warp_tile", sgemm_warp_tile};
  using T = LargeTile;
  const auto [m, n, k] = shape;
  if (at.has_sm_90a &&
      specialized_us(shape, at.has_vector_rows) < smaller_tiles_us(shape, at.has_vector_rows)) {
    if (at.has_vector_rows) return {"warp_specialized", sgemm_warp_specialized};
    return {"padded_copies", nullptr};
  }
  if (tile_count<T::kTileM, T::kTileN>(m, n) >= at.multiprocessors &&
      plan_stream_k<T>(m, n, k, at.multiprocessors).parts > 0) {
    return {"stream_k", sgemm_stream_k};
  }
  switch (choose_tile_size(m, n, at.multiprocessors)) {
    case TileSize::kLarge: return {"grouped_tiles", sgemm_grouped_tiles};
    case TileSize::kSmall: return {"tile_by_size", sgemm_tile_by_size};
    case TileSize::kTiny: break;
  }
  if (choose_split_k_parts(m, n, k, at.multiprocessors) > 1) return {"split_k", sgemm_split_k};
  return {"tile_by_size", sgemm_tile_by_size};
}

// C = A B by warp_specialized and the copies that it needs; A is m x k, B is k x n, C is m x n, all
// row-major. Device pointers; sizes up to 2e9.
inline void multiply_with_padded_copies(const float* a, const float* b, float* c, int m, int n,
                                        int k, const kit::Workspace& workspace,
                                        cudaStream_t stream) {
  const bool shares =
      plan_stream_k<SpecializedTile>(m, n, k, kit::multiprocessor_count()).parts > 0;
  const PaddedShape shape = padded_shape(a, b, c, m, n, k, shares);
  with_padded_copies(shape, a, b, c, workspace.get<float>(shape.floats()), stream,
                     [&](const float* tight_a, const float* tight_b, float* to, int columns) {
                       multiply_specialized(tight_a, tight_b, to, m, columns, shape.padded_k,
                                            {k, shape.padded_n}, stream);
                     });
}

inline bench::Variant<Sgemm> sgemm_padded_copies() {
  const auto run = [workspace = kit::Workspace()](const float* a, const float* b, float* c, int m,
                                                  int n, int k, cudaStream_t stream) {
    multiply_with_padded_copies(a, b, c, m, n, k, workspace, stream);
  };
  return sgemm_rung("padded_copies", "beyond: rows of any length, copied for TMA (sm_90a)", run,
                    bench::needs_exactly_sm(90));
}

inline bench::Variant<Sgemm> sgemm_chosen() {
  const auto run = [workspace = kit::Workspace()](Sgemm& p, cudaStream_t stream) -> std::string {
    static const bench::DeviceFacts device = bench::query_device();
    static const bool has_sm_90a =
        bench::why_skipped(sgemm_rung("", "", sgemm_warp_specialized, bench::needs_exactly_sm(90)),
                           device)
            .empty();
    const int m = static_cast<int>(p.shape.m), n = static_cast<int>(p.shape.n);
    const int k = static_cast<int>(p.shape.k);
    const float *a = p.device_a(), *b = p.device_b();
    float* const c = p.c.device_data();
    const bool vectors =
        kit::has_vector_rows(a, k) && kit::has_vector_rows(b, n) && kit::has_vector_rows(c, n);
    const Choice choice = choose(
        p.shape, {device.multiprocessors, device.compute_capability() >= 80, has_sm_90a, vectors});
    if (choice.multiply != nullptr) {
      choice.multiply(a, b, c, m, n, k, stream);
    } else {
      multiply_with_padded_copies(a, b, c, m, n, k, workspace, stream);
    }
    return choice.name;
  };
  return bench::chooser<Sgemm>("a library's choice: the rung by size, alignment and chip", run);
}

}  // namespace matmul::sgemm
