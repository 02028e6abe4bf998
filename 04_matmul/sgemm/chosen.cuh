// The last page of the ladder: which rung a library would take for a product.
//
// Large products go to the rung that is fastest there; it needs Hopper and rows of 16 bytes. A C of
// less than a wave of large tiles gets smaller ones; where even these are too few for the SMs, long
// sums over k are split.
#pragma once

#include <cuda_runtime.h>

#include <string>

#include "04_matmul/kit/tile_origin.cuh"
#include "04_matmul/sgemm/09_warp_tile.cuh"
#include "04_matmul/sgemm/14_grouped_tiles.cuh"
#include "04_matmul/sgemm/beyond/01_tile_by_size.cuh"
#include "04_matmul/sgemm/beyond/02_split_k.cuh"
#include "04_matmul/sgemm/beyond/03_stream_k.cuh"
#include "04_matmul/sgemm/beyond/04_warp_specialized.cuh"
#include "04_matmul/sgemm/kit/stream_k_plan.cuh"
#include "04_matmul/sgemm/kit/thread_tile.cuh"
#include "04_matmul/sgemm/problem.cuh"
#include "04_matmul/shape.hpp"
#include "common/bench/device_facts.cuh"
#include "common/bench/variant.cuh"
#include "common/bench/verify.cuh"
#include "common/kit/launch.cuh"

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
                   cudaStream_t stream);
};

inline Choice choose(Shape shape, const Circumstances& at) {
  if (!at.has_cp_async) return {"warp_tile", sgemm_warp_tile};
  using T = LargeTile;
  const auto [m, n, k] = shape;
  if (tile_count<T::kTileM, T::kTileN>(m, n) >= at.multiprocessors) {
    if (at.has_sm_90a && at.has_vector_rows) {
      return {"warp_specialized", sgemm_warp_specialized};
    }
    if (plan_stream_k<T>(m, n, k, at.multiprocessors).parts > 0) {
      return {"stream_k", sgemm_stream_k};
    }
  }
  switch (choose_tile_size(m, n, at.multiprocessors)) {
    case TileSize::kLarge: return {"grouped_tiles", sgemm_grouped_tiles};
    case TileSize::kSmall: return {"tile_by_size", sgemm_tile_by_size};
    case TileSize::kTiny: break;
  }
  if (choose_split_k_parts(m, n, k, at.multiprocessors) > 1) return {"split_k", sgemm_split_k};
  return {"tile_by_size", sgemm_tile_by_size};
}

inline bench::Variant<Sgemm> sgemm_chosen() {
  const auto run = [](Sgemm& p, cudaStream_t stream) -> std::string {
    static const bench::DeviceFacts device = bench::query_device();
    static const bool has_sm_90a =
        bench::why_skipped(sgemm_rung("", "", sgemm_warp_specialized, bench::needs_exactly_sm(90)),
                           device)
            .empty();
    const auto [m, n, k] = p.shape;
    const float *a = p.device_a(), *b = p.device_b();
    float* const c = p.c.device_data();
    const bool vectors =
        kit::has_vector_rows(a, k) && kit::has_vector_rows(b, n) && kit::has_vector_rows(c, n);
    const Choice choice = choose(
        p.shape, {device.multiprocessors, device.compute_capability() >= 80, has_sm_90a, vectors});
    choice.multiply(a, b, c, static_cast<int>(m), static_cast<int>(n), static_cast<int>(k), stream);
    return choice.name;
  };
  return bench::chooser<Sgemm>("a library's choice: the rung by size, alignment and chip", run);
}

}  // namespace matmul::sgemm
