// How many cycles a product takes that has few tiles: by this model split_k chooses its tile and
// the number of parts, and the chooser decides between parts and whole tiles.
//
// The model of kit/cost_model.cuh compares tiles of many waves. Its cycles are not those of a
// clock: where a product has one wave or less, it counts some 50 percent too many at most. What is
// compared with sums in parts needs the time itself.
#pragma once

#include <algorithm>
#include <climits>
#include <cmath>
#include <cstdint>

#include "04_matmul/bf16/kit/cost_model.cuh"
#include "04_matmul/kit/gemm_tile.cuh"
#include "common/kit/launch.cuh"

namespace matmul::bf16 {

// How many clusters of T run at once: four blocks must fit into a GPC, and 30 such clusters fit on
// an H200, not 33.
template <class T>
int most_clusters(int sms) {
  return T::kCluster == 4 ? sms * 10 / 44 : sms / T::kCluster;
}

// How many tiles C has, counted in whole clusters: some may lie outside.
template <class T>
std::int64_t count_tiles(std::int64_t m, std::int64_t n) {
  return std::int64_t{T::kCluster} * kit::divide_up(m, T::kTileM * T::kDown) *
         kit::divide_up(n, T::kTileN * T::kAcross);
}

// The next number of parts after `parts` with which the longest one has fewer of so many k tiles:
// those between have more sums, and gain nothing. If there is none, more than any device has SMs.
inline int next_parts(int k_tiles, int parts) {
  const int steps = kit::divide_up(k_tiles, parts);
  return steps > 1 ? kit::divide_up(k_tiles, steps - 1) : INT_MAX;
}

// The cycles of a product in tiles of T whose sums are split into `parts`, on an idle chip. The
// numbers were fitted to 5900 kernels in parts and 650 with whole tiles, at 980 products, on an
// H200. They differ by 6 percent from what was measured, by 8 with larger whole tiles (root mean
// square).
template <class T>
double cycles_of_few_tiles(const Product& product, int parts, int sms) {
  constexpr double kElements = T::kTileM * T::kTileN;
  const std::int64_t tiles = count_tiles<T>(product.m, product.n);
  const double waves = kit::divide_up(tiles * parts / T::kCluster, most_clusters<T>(sms));
  const double blocks = static_cast<double>(tiles * parts);

  // A k tile: to wait for it and to issue its products, the products, or what the L2 cache has to
  // deliver, to this block and to others. Rows that do not begin at lines cost more here than where
  // there are many waves.
  const double kilobytes = ((2 * product.a_reads - 1) * T::kTileM / T::kAcross +
                            (2 * product.b_reads - 1) * T::kTileN / T::kDown) /
                           8;
  const double root = std::sqrt(blocks / (waves * sms));
  const double others = std::max(0.6, root * std::sqrt(std::sqrt(root)));  // to the power of 5 / 8
  const double busy =
      std::max({T::kDepth == 1 ? 342.0 : 237.0, kElements / 27.5, 15.9 * kilobytes * others});
  // Whole tiles are loaded with the rows that lie outside, which TMA takes longer to fill.
  const double outside = parts > 1 ? 0 : std::max(0.0, T::kTileM - static_cast<double>(product.m));
  const double steps = kit::divide_up(kit::divide_up(product.k, kTileK), parts);

  // All of them, and to store C or the sums. Or what it takes to read A and B from memory; if both
  // take as long, it is longer than either.
  const double inputs = 2e-6 * static_cast<double>((product.m + product.n) * product.k);  // MB
  const double computed = 3200 + (T::kCluster > 1 ? 1860 : 0) +
                          waves * (steps * (busy + 7 * outside) + 0.11 * kElements);
  const double ratio = (3450 + 488 * inputs) / computed, fourth = ratio * ratio * ratio * ratio;
  const double first = computed * std::sqrt(std::sqrt(std::sqrt(1 + fourth * fourth)));
  if (parts == 1) return first;
  // The second kernel: each part is one more place that it has to read from.
  return first + 880 + 285 * parts + 517 * 4e-6 * blocks * kElements;
}

}  // namespace matmul::bf16
