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
#include <stdexcept>
#include <string>
#include <type_traits>

#include "04_matmul/bf16/06_multistage.cuh"
#include "04_matmul/bf16/beyond/02_by_shape.cuh"
#include "04_matmul/bf16/beyond/03_split_k.cuh"
#include "04_matmul/bf16/beyond/04_narrow_edge.cuh"
#include "04_matmul/bf16/beyond/05_stream_k.cuh"
#include "04_matmul/bf16/beyond/06_full_waves.cuh"
#include "04_matmul/bf16/beyond/07_padded_copies.cuh"
#include "04_matmul/bf16/beyond/10_direct_fragments.cuh"
#include "04_matmul/bf16/beyond/11_row_shares.cuh"
#include "04_matmul/bf16/beyond/12_k_shares.cuh"
#include "04_matmul/bf16/beyond/13_fitted_tile.cuh"
#include "04_matmul/bf16/beyond/14_late_store.cuh"
#include "04_matmul/bf16/kit/cluster_tile.cuh"
#include "04_matmul/bf16/kit/cost_model.cuh"
#include "04_matmul/bf16/kit/edge_schedule.cuh"
#include "04_matmul/bf16/kit/few_tiles.cuh"
#include "04_matmul/bf16/kit/remembered_plan.hpp"
#include "04_matmul/bf16/kit/shaped_tile.cuh"
#include "04_matmul/bf16/problem.cuh"
#include "04_matmul/kit/cluster.cuh"
#include "04_matmul/kit/gemm_tile.cuh"
#include "04_matmul/kit/tile_origin.cuh"
#include "common/bench/device_facts.cuh"
#include "common/bench/variant.cuh"
#include "common/bench/verify.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/workspace.cuh"

namespace matmul::bf16 {

// What the model has to know of a device: its SMs, and the pairs of blocks that it runs at once.
struct Chip {
  int sms, clusters;
};

// How many cycles narrow_edge should take.
template <class Edge>
double cycles_with_edge(const Product& product, int sms) {
  const auto cycles_of = [&](auto tile) {
    using Tile = decltype(tile);
    constexpr int kElements = Tile::kTileM * Tile::kTileN;
    const double bytes = product.a_reads * Tile::kBytesA +
                         product.b_reads * Tile::kSlabs * kSlabBytes / kClusterSize;
    return cycles_of_tile(cycles_of_step(product, kElements / 32.0, bytes), kElements, product.k);
  };
  return cycles_of_busiest(edge_schedule(product.m, product.n), sms / kClusterSize,
                           kCyclesOfLaunch + kCyclesOfCluster, cycles_of(WholeTile{}),
                           cycles_of(Edge{}));
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
  return kCyclesOfLaunch + (waves + (1.1 + 0.16 * apart) * share) * pair + 11400;
}

// The name of the rung that should take the fewest cycles. For matrices that TMA can load.
// is_loose: it cannot store C, so only rungs that store C by threads, too, may be chosen.
inline std::string find_cheapest_rung(const Product& product, const Chip& chip, bool is_loose) {
  const double by_shape = fewest_cycles(product, chip.sms);
  const bool has_waves =
      tile_count<WholeTile::kTileM, WholeTile::kTileN>(product.m, product.n) > chip.sms;

  // Narrow tiles at the right edge, where there is something left over and more than one wave.
  double narrow_edge = HUGE_VAL;
  const bool may_be_narrow = !is_loose && has_waves;
  if (may_be_narrow && edge_columns(product.n) == 64) {
    narrow_edge = cycles_with_edge<EdgeTile<64>>(product, chip.sms);
  } else if (may_be_narrow && edge_columns(product.n) == 128) {
    narrow_edge = cycles_with_edge<EdgeTile<128>>(product, chip.sms);
  }

  // Three ways to fill the last wave; beyond one wave even ones, whose C leaves late where TMA can
  // store it.
  const double stream_k = is_loose ? HUGE_VAL : cycles_of_stream_k(product, chip.clusters);
  const double even_waves = !has_waves ? HUGE_VAL
                            : is_loose ? plan_full_waves(product, chip.clusters).cycles
                                       : plan_late_store(product, chip.clusters).cycles;

  const FittedPlan fitted = plan_fitted_tile(product, chip.sms, is_loose);
  const double others = std::min(narrow_edge, stream_k);
  if (even_waves < std::min({by_shape, others, fitted.cycles})) {
    return is_loose ? "full_waves" : "late_store";
  }
  if (others < std::min({by_shape, fitted.cycles})) {
    return stream_k < narrow_edge ? "stream_k" : "narrow_edge";
  }

  // Perhaps there are few tiles: then another model decides between whole ones and parts of sums.
  double cycles = 0;
  with_cheapest_tile(product, chip.sms, [&](auto tile) {
    cycles = cycles_of_few_tiles<decltype(tile)>(product, 1, chip.sms);
  });
  const bool is_fitted =
      fitted.cycles < by_shape || (fitted.is_small && fitted.few_cycles < cycles);
  if (is_fitted) cycles = fitted.few_cycles;
  const SplitPlan split = plan_split_k(product, chip.sms);
  if (split.parts > 1 && split.cycles < 0.97 * cycles) return "split_k";  // worth two kernels
  return is_fitted ? "fitted_tile" : "by_shape";
}
inline std::string cheapest_rung(const Product& product, const Chip& chip, bool is_loose) {
  const std::int64_t device = 2 * (std::int64_t{chip.sms} << 20 | chip.clusters) + is_loose;
  return remembered_plan(product, device,
                         [&] { return find_cheapest_rung(product, chip, is_loose); });
}

// Few rows of A: then B's bytes decide, and a rung of the page on thin products reads them best.
// Its name, or an empty one. Fewer than four rows of B per SM are left to split_k, and from 33 rows
// of A on as many columns as 128 per three SMs to it or to small fitted tiles. From 65 rows of A on
// more than a tile of 64 columns per SM are left to tiles whose clusters share A; of a B that is
// k x n, from 33 rows on with more than 96 columns per SM. All was measured on an H200.
template <bool kTransposedB>
std::string thin_rung(const Operands& x, int m, int n, int k, int sms) {
  const bool is_wide = n > 64 * sms;
  if (m > 128 || n < 4 * sms || (m > 64 && is_wide)) return "";
  if (!kTransposedB && m > 32 && n > 96 * sms) return "";
  if (m > 32 && n <= sms / 3 * 128) return "";
  if (kit::has_vector_rows(x.a.data, x.a.pitch) && kit::has_vector_rows(x.b.data, x.b.pitch)) {
    return kTransposedB && (m <= 32 || is_wide) ? "row_shares" : "k_shares";
  }
  // To copy the weights would take longer than the product.
  const bool is_dense = x.a.pitch == k && x.b.pitch == k && x.c.pitch == n;
  return kTransposedB && m <= 32 && is_dense ? "direct_fragments" : "";
}

// Bytes of memory for one product: the partial sums of stream_k or split_k, and the copies of
// padded_copies.
template <bool kTransposedB>
std::int64_t scratch_bytes(const Operands& x, int m, int n, int k) {
  const std::int64_t elements = padded_elements<kTransposedB>(x, m, n, k);
  return kPartialBytes + elements * static_cast<std::int64_t>(sizeof(__nv_bfloat16));
}

// C = A B; A is m x k, C is m x n, B is k x n or, if kTransposedB, n x k; rows may begin anywhere.
// Device pointers, to 2 bytes; sizes up to 2e9. Returns the name of the rung that does it.
// scratch: scratch_bytes(), aligned to 16 and this launch's until it has ended. Throws
// std::invalid_argument if a size is below 1.
template <bool kTransposedB>
std::string multiply_by_choice(const Operands& operands, int m, int n, int k, void* scratch,
                               cudaStream_t stream) {
  if (m < 1 || n < 1 || k < 1) throw std::invalid_argument("a size below 1");
  const std::string for_few_rows =
      thin_rung<kTransposedB>(operands, m, n, k, kit::multiprocessor_count());
  if (for_few_rows == "row_shares") {
    multiply_in_row_shares(operands, m, n, k, stream);
    return for_few_rows;
  }
  if (for_few_rows == "k_shares") {
    static_assert(kShareBytes <= kPartialBytes);
    multiply_in_k_shares<kTransposedB>(operands, m, n, k, static_cast<float4*>(scratch), stream);
    return for_few_rows;
  }
  if (for_few_rows == "direct_fragments") {
    bf16_gemm_direct_fragments(operands.a.data, operands.b.data, operands.c.data, m, n, k, stream);
    return for_few_rows;
  }
  auto* const partials = static_cast<float4*>(scratch);
  auto* const copies =
      reinterpret_cast<__nv_bfloat16*>(static_cast<unsigned char*>(scratch) + kPartialBytes);
  const Operands x = with_tight_rows<kTransposedB>(operands, m, n, k, copies, stream);
  const bool is_loose = !can_store(x.c, n);
  const Chip chip = {kit::multiprocessor_count(), stream_k_clusters<kTransposedB>()};
  const std::string rung = cheapest_rung(Product::of<kTransposedB>(x, m, n, k), chip, is_loose);
  const auto multiply = [&](auto loose) {
    if (rung == "fitted_tile") {
      multiply_in_fitted_tiles<kTransposedB>(x, loose, m, n, k, stream);
    } else if (rung == "full_waves") {
      multiply_in_full_waves<kTransposedB, loose>(x, m, n, k, stream);
    } else {
      multiply_by_shape<kTransposedB, loose>(x, m, n, k, stream);
    }
  };
  if (rung == "split_k") {
    static_assert(kMostSplitBytes <= kPartialBytes);
    multiply_in_parts<kTransposedB>(x, m, n, k, partials, stream);
  } else if (rung == "stream_k") {
    launch_stream_k<kTransposedB>(x, m, n, k, partials, stream);
  } else if (rung == "narrow_edge") {
    multiply_with_narrow_edge<kTransposedB>(x, m, n, k, stream);
  } else if (rung == "late_store") {
    multiply_with_late_store<kTransposedB>(x, m, n, k, stream);
  } else if (is_loose) {
    multiply(std::true_type{});
  } else {
    multiply(std::false_type{});
  }
  const bool copied = x.a.data != operands.a.data || x.b.data != operands.b.data;
  return copied ? "padded_copies, " + rung : rung;
}

// The memory that stream_k needs, allocated once.
inline float4* partial_sums(const kit::Workspace& workspace) {
  return workspace.get<float4>(kPartialBytes / static_cast<std::int64_t>(sizeof(float4)));
}

template <bool kTransposedB>
bench::Variant<Bf16Gemm<kTransposedB>> split_k() {
  const auto run = [workspace = kit::Workspace()](const Element* a, const Element* b, Element* c,
                                                  int m, int n, int k, cudaStream_t stream) {
    const SplitPlan plan =
        plan_split_k(Product::of<kTransposedB>(dense<kTransposedB>(a, b, c, n, k), m, n, k),
                     kit::multiprocessor_count());
    float4* const partials = workspace.get<float4>(kit::divide_up(split_bytes(plan, m, n), 16));
    bf16_gemm_split_k<kTransposedB>(a, b, c, m, n, k, partials, stream);
  };
  return rung<kTransposedB>("split_k",
                            "beyond: few tiles, so blocks share the sums of one (sm_90a)", run,
                            bench::needs_exactly_sm(90));
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
bench::Variant<Bf16Gemm<kTransposedB>> padded_copies() {
  const auto run = [workspace = kit::Workspace()](const Element* a, const Element* b, Element* c,
                                                  int m, int n, int k, cudaStream_t stream) {
    const Operands x = dense<kTransposedB>(a, b, c, n, k);
    Element* const copies = workspace.get<Element>(padded_elements<kTransposedB>(x, m, n, k));
    const Operands tight = with_tight_rows<kTransposedB>(x, m, n, k, copies, stream);
    if (can_store(x.c, n)) {
      multiply_by_shape<kTransposedB, false>(tight, m, n, k, stream);
    } else {
      multiply_by_shape<kTransposedB, true>(tight, m, n, k, stream);
    }
  };
  return rung<kTransposedB>("padded_copies", "beyond: rows of any length, copied for TMA (sm_90a)",
                            run, bench::needs_exactly_sm(90));
}

template <bool kTransposedB>
bench::Variant<Bf16Gemm<kTransposedB>> chosen() {
  using Problem = Bf16Gemm<kTransposedB>;
  const auto run = [workspace = kit::Workspace()](Problem& p, cudaStream_t stream) -> std::string {
    static const bool has_wgmma =
        bench::why_skipped(stream_k<kTransposedB>(), bench::query_device()).empty();
    const int m = static_cast<int>(p.shape.m), n = static_cast<int>(p.shape.n);
    const int k = static_cast<int>(p.shape.k);
    if (!has_wgmma) {
      bf16_gemm_multistage<kTransposedB>(p.device_a(), p.device_b(), p.c.device_data(), m, n, k,
                                         stream);
      return "multistage";
    }
    const Operands x = dense<kTransposedB>(p.device_a(), p.device_b(), p.c.device_data(), n, k);
    void* const scratch = workspace.get<unsigned char>(scratch_bytes<kTransposedB>(x, m, n, k));
    return multiply_by_choice<kTransposedB>(x, m, n, k, scratch, stream);
  };
  auto variant = bench::chooser<Problem>("a library's choice: the rung by size and alignment", run);
  variant.needs = bench::needs_sm(80);
  return variant;
}

}  // namespace matmul::bf16
