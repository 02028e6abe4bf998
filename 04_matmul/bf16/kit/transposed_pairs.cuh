// Pairs of transposed tiles, C' = B' A', for the middle of C and for its lower edge, and how many
// cycles they should take. The rows of C are the columns of wgmma then, any multiple of 8 of them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "04_matmul/bf16/kit/cluster_tile.cuh"
#include "04_matmul/bf16/kit/cost_model.cuh"
#include "04_matmul/bf16/kit/edge_schedule.cuh"
#include "04_matmul/kit/cluster.cuh"
#include "04_matmul/kit/gemm_tile.cuh"
#include "04_matmul/kit/scheduler.cuh"
#include "common/kit/launch.cuh"

namespace matmul::bf16 {

// What cluster_tile.cuh calls A is B, and the other way around, so kTileM counts columns of C and
// kTileN rows of C.
template <int kRowsOfC>
using TransposedTile = ClusterTile<1, kRowsOfC>;
template <int kRowsOfC>
using TransposedEdge = ClusterTile<256 / kRowsOfC, kRowsOfC>;

// The pairs of tiles, side by side here. Whole tiles from the top, as few as leave at most one tile
// of the edge below them.
template <class Whole, class Edge>
EdgeSchedule transposed_pairs(int m, int n) {
  const int rows = kit::divide_up(std::max(0, m - Edge::kTileN), Whole::kTileN) * Whole::kTileN;
  return {grouped_schedule(n, rows, kClusterSize * Whole::kTileM, Whole::kTileN),
          rows < m ? kit::divide_up(n, kClusterSize * Edge::kTileM) : 0};
}

// How many cycles that takes, by the model of kit/cost_model.cuh. store(elements): those between a
// tile's last products and the next one's first. A k tile of 192 rows takes 6 % longer than its
// products; one of 248 or 256 does not (measured on an H200).
template <class Whole, class Edge, class Store>
double cycles_of_pairs(const Product& product, int clusters, Store store) {
  const auto cycles_of = [&](auto tile) {
    using Tile = decltype(tile);
    constexpr int kElements = Tile::kTileM * Tile::kTileN;
    const double bytes = product.b_reads * Tile::kBytesA +
                         product.a_reads * Tile::kSlabs * kSlabBytes / kClusterSize;
    const double step =
        (kElements < 128 * 248 ? 1.06 : 1) * cycles_of_step(product, kElements / 32.0, bytes);
    return step * kit::divide_up(product.k, kTileK) + store(kElements);
  };
  return cycles_of_busiest(
      transposed_pairs<Whole, Edge>(static_cast<int>(product.m), static_cast<int>(product.n)),
      clusters, kCyclesOfLaunch + kCyclesOfCluster, cycles_of(Whole{}), cycles_of(Edge{}));
}

// The rows of a whole tile and of one at the edge, and the cycles that this should take.
struct PairsPlan {
  int rows, rows_at_edge;
  double cycles;
};
// The cheapest. each_form(visit): calls visit(whole tile, edge) with all shapes to choose from.
template <class Store, class EachForm>
PairsPlan plan_pairs(const Product& product, int clusters, Store store, EachForm each_form) {
  PairsPlan plan = {0, 0, HUGE_VAL};
  each_form([&](auto whole, auto edge) {
    const double cycles =
        cycles_of_pairs<decltype(whole), decltype(edge)>(product, clusters, store);
    if (cycles < plan.cycles) plan = {whole.kTileN, edge.kTileN, cycles};
  });
  return plan;
}

}  // namespace matmul::bf16
