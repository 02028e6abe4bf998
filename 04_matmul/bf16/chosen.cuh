// The last page of the ladder: which rung a library would take.
//
// A small model of the cycles (kit/cost_model.cuh) decides, as the heuristics of a library do. Its
// constants were measured on an H200.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "04_matmul/bf16/06_multistage.cuh"
#include "04_matmul/bf16/beyond/02_by_shape.cuh"
#include "04_matmul/bf16/beyond/03_split_k.cuh"
#include "04_matmul/bf16/beyond/04_narrow_edge.cuh"
#include "04_matmul/bf16/beyond/05_stream_k.cuh"
#include "04_matmul/bf16/beyond/06_full_waves.cuh"
#include "04_matmul/bf16/kit/cluster.cuh"
#include "04_matmul/bf16/kit/cluster_tile.cuh"
#include "04_matmul/bf16/kit/cost_model.cuh"
#include "04_matmul/bf16/kit/edge_schedule.cuh"
#include "04_matmul/bf16/kit/gemm_tile.cuh"
#include "04_matmul/bf16/kit/shaped_tile.cuh"
#include "04_matmul/bf16/kit/vector_rows.cuh"
#include "04_matmul/bf16/problem.cuh"
#include "04_matmul/kit/tile_origin.cuh"
#include "common/bench/device_facts.cuh"
#include "common/bench/variant.cuh"
#include "common/bench/verify.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/workspace.cuh"

namespace matmul::bf16 {

// What the model has to know of a device: its SMs, the pairs of blocks that it runs at once, and
// the larger clusters.
struct Chip {
  int sms, clusters;
  RoomForParts room;
};

// How many cycles narrow_edge should take.
template <class Edge>
double cycles_with_edge(const Product& product, int sms) {
  const auto cycles_of = [&](auto tile) {
    constexpr int kElements = decltype(tile)::kTileM * decltype(tile)::kTileN;
    return cycles_of_tile(std::max(kCyclesOfCopies, kElements / 32.0), kElements, product.k);
  };
  return cycles_of_busiest(edge_schedule(product.m, product.n), sms / kClusterSize, kCyclesOfLaunch,
                           cycles_of(WholeTile{}), cycles_of(Edge{}));
}

// How many cycles stream_k should take; infinity where there is nothing to share. Clusters that are
// at different k tiles find less of what they need in the L2 cache, and writing and reading partial
// sums takes time: both were measured on an H200.
inline double cycles_of_stream_k(const Product& product, int clusters) {
  const StreamKPlan plan = plan_stream_k(static_cast<int>(product.m), static_cast<int>(product.n),
                                         static_cast<int>(product.k), clusters);
  if (plan.shared == 0) return HUGE_VAL;
  const double pair = cycles_of_tile(cycles_of_k_tile<WidePair>(product),
                                     WholeTile::kTileM * WholeTile::kTileN, product.k);
  const int waves = (plan.pairs.count() - plan.shared) / clusters;
  const double share = 1.0 * plan.shared / clusters;    // in pairs
  const double apart = std::min(share - 1, 2 - share);  // neighbours, in pairs
  return kCyclesOfLaunch + (waves + (1.1 + 0.25 * apart) * share) * pair + 16000;
}

// The name of the rung that should take the fewest cycles. For matrices that TMA can take.
inline std::string cheapest_rung(const Product& product, const Chip& chip) {
  const double by_shape = fewest_cycles(product, chip.sms);
  const auto tiles = tile_count<WholeTile::kTileM, WholeTile::kTileN>(product.m, product.n);
  const auto pairs =
      tile_count<kClusterSize * WholeTile::kTileM, WholeTile::kTileN>(product.m, product.n);

  // Narrow tiles at the right edge, where there is something left over and more than one wave.
  double narrow_edge = HUGE_VAL;
  if (tiles > chip.sms && edge_columns(product.n) == 64) {
    narrow_edge = cycles_with_edge<EdgeTile<64>>(product, chip.sms);
  } else if (tiles > chip.sms && edge_columns(product.n) == 128) {
    narrow_edge = cycles_with_edge<EdgeTile<128>>(product, chip.sms);
  }

  // Two ways to fill the last wave.
  const double stream_k = cycles_of_stream_k(product, chip.clusters);
  const double full_waves =
      pairs > chip.clusters ? plan_full_waves(product, chip.clusters).cycles : HUGE_VAL;

  if (full_waves < std::min({by_shape, narrow_edge, stream_k})) return "full_waves";
  if (stream_k < std::min(by_shape, narrow_edge)) return "stream_k";
  if (narrow_edge <= by_shape) return "narrow_edge";

  // Fewer tiles than SMs: each sum in parts.
  const SplitPlan split = plan_split_k(product, chip.sms, chip.room);
  return split.parts > 1 && split.cycles < by_shape ? "split_k" : "by_shape";
}

// C = A B; A is m x k, C is m x n, B is k x n or, if kTransposedB, n x k; all row-major. Device
// pointers; sizes up to 2e9. Returns the name of the rung that does it: multistage without TMA and
// wgmma (has_wgmma) or where TMA cannot take the matrices. partials: kPartialBytes, this launch's
// until it has ended.
template <bool kTransposedB>
std::string bf16_gemm_chosen(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c,
                             int m, int n, int k, float4* partials, bool has_wgmma,
                             cudaStream_t stream) {
  if (!has_wgmma || !have_vector_rows<kTransposedB>(a, b, c, n, k)) {
    bf16_gemm_multistage<kTransposedB>(a, b, c, m, n, k, stream);
    return "multistage";
  }
  const Chip chip = {kit::multiprocessor_count(), stream_k_clusters<kTransposedB>(),
                     room_for_parts<kTransposedB>()};
  const std::string rung = cheapest_rung(Product::of<kTransposedB>(m, n, k), chip);
  if (rung == "full_waves") {
    bf16_gemm_full_waves<kTransposedB>(a, b, c, m, n, k, stream);
  } else if (rung == "stream_k") {
    bf16_gemm_stream_k<kTransposedB>(a, b, c, m, n, k, partials, stream);
  } else if (rung == "narrow_edge") {
    bf16_gemm_narrow_edge<kTransposedB>(a, b, c, m, n, k, stream);
  } else if (rung == "split_k") {
    bf16_gemm_split_k<kTransposedB>(a, b, c, m, n, k, stream);
  } else {
    bf16_gemm_by_shape<kTransposedB>(a, b, c, m, n, k, stream);
  }
  return rung;
}

// The memory that stream_k needs, allocated once.
inline float4* partial_sums(const kit::Workspace& workspace) {
  return workspace.get<float4>(kPartialBytes / static_cast<std::int64_t>(sizeof(float4)));
}

template <bool kTransposedB>
bench::Variant<Bf16Gemm<kTransposedB>> stream_k() {
  const auto run = [workspace = kit::Workspace()](const Element* a, const Element* b, Element* c,
                                                  int m, int n, int k, cudaStream_t stream) {
    bf16_gemm_stream_k<kTransposedB>(a, b, c, m, n, k, partial_sums(workspace), stream);
  };
  return rung<kTransposedB>("stream_k", "beyond: the last two waves cut into equal shares (sm_90a)",
                            run, bench::needs_exactly_sm(90));
}

template <bool kTransposedB>
bench::Variant<Bf16Gemm<kTransposedB>> chosen() {
  using Problem = Bf16Gemm<kTransposedB>;
  const auto run = [workspace = kit::Workspace()](Problem& p, cudaStream_t stream) -> std::string {
    static const bool has_wgmma =
        bench::why_skipped(stream_k<kTransposedB>(), bench::query_device()).empty();
    return bf16_gemm_chosen<kTransposedB>(p.device_a(), p.device_b(), p.c.device_data(),
                                          static_cast<int>(p.shape.m), static_cast<int>(p.shape.n),
                                          static_cast<int>(p.shape.k), partial_sums(workspace),
                                          has_wgmma, stream);
  };
  auto variant = bench::chooser<Problem>("a library's choice: the rung by size and alignment", run);
  variant.needs = bench::needs_sm(80);
  return variant;
}

}  // namespace matmul::bf16
