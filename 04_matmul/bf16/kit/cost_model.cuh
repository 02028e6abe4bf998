// How many cycles a product should take with tiles of one shape: a small model, by which rungs and
// the chooser pick.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "04_matmul/bf16/kit/shaped_tile.cuh"
#include "04_matmul/kit/gemm_tile.cuh"
#include "common/kit/launch.cuh"

namespace matmul::bf16 {

// What the model has to know of a product. a_reads, b_reads: how many times the bytes of A's
// and B's tiles the L2 cache has to deliver.
struct Product {
  std::int64_t m, n, k;
  double a_reads, b_reads;

  static Product of(const Operands& x, std::int64_t m, std::int64_t n, std::int64_t k) {
    return {m, n, k, reads(x.a.pitch), reads(x.b.pitch)};
  }
  template <bool kTransposedB>
  static Product of(std::int64_t m, std::int64_t n, std::int64_t k) {
    return {m, n, k, reads(k), reads(kTransposedB ? k : n)};
  }
  // A row of a tile has 128 bytes, four sectors. If the rows of the matrix, of so many elements, do
  // not begin at lines of the cache, it lies in two lines; if not even at sectors, in five sectors.
  // What that costs was measured on an H200.
  static double reads(std::int64_t elements) {
    return elements % 64 == 0 ? 1 : elements % 16 == 0 ? 1.25 : 1.7;
  }
};

// The cycles of one k tile. An SM computes 64 x 64 elements of C in 128; other tiles than 128 x
// 256 take somewhat longer. Or the L2 cache is the limit: it delivers 1 KB to each SM in 15 cycles,
// a ring of three stages hides less of it. That, and what a tile and a launch cost beside, was
// measured on an H200.
constexpr double kCyclesOfLaunch = 3000, kCyclesOfKilobyte = 15;
template <class T>
double cycles_of_k_tile(const Product& product) {
  constexpr int kElements = T::kTileM * T::kTileN;
  constexpr double kSlower = T::kTileM == 64         ? 1.3
                             : kElements > 128 * 256 ? 1.06
                             : kElements < 128 * 256 ? 1.03
                                                     : 1;
  constexpr double kSeen = T::kStages == 3 ? 1.2 : 1;
  const double from_l2 =
      kSeen * (product.a_reads * T::kBytesA + product.b_reads * T::kBytesB / T::kCluster);
  return std::max(kSlower * kElements / 32, kCyclesOfKilobyte / 1024 * from_l2);
}
// A tile of C with so many elements: its k tiles, and to store it.
inline double cycles_of_tile(double of_k_tile, int elements, std::int64_t k) {
  return of_k_tile * kit::divide_up(k, kTileK) + 500 + 0.06 * elements;
}
template <class T>
double estimated_cycles(const Product& product, int sms) {
  constexpr int kCluster = T::kCluster;
  const std::int64_t tiles = std::int64_t{kit::divide_up(product.m, T::kTileM * kCluster)} *
                             kit::divide_up(product.n, T::kTileN);
  return kCyclesOfLaunch +
         kit::divide_up(tiles, sms / kCluster) *
             cycles_of_tile(cycles_of_k_tile<T>(product), T::kTileM * T::kTileN, product.k);
}

// A k tile for the narrowest tiles takes as long as its copies, longer than its products
// (measured on an H200).
constexpr double kCyclesOfCopies = 700;

// Calls visit(tile) with the tile that should take the fewest cycles.
template <class Visit>
void with_cheapest_tile(const Product& product, int sms, Visit visit) {
  const std::int64_t tiles = std::int64_t{kit::divide_up(product.m, Wide::kTileM)} *
                             kit::divide_up(product.n, Wide::kTileN);
  // Pairs of blocks should save power. A single wave of tiles does not last long enough for that to
  // count.
  const bool pairs = tiles > sms;
  const double wide = estimated_cycles<Wide>(product, sms);
  const double wide_pair = pairs ? estimated_cycles<WidePair>(product, sms) : HUGE_VAL;
  const double tall_pair = pairs ? estimated_cycles<TallPair>(product, sms) : HUGE_VAL;
  const double large = estimated_cycles<Large>(product, sms);
  const double middle = estimated_cycles<Middle>(product, sms);
  const double square = estimated_cycles<Square>(product, sms);
  const double small = estimated_cycles<Small>(product, sms);
  const double fewest = std::min({wide, wide_pair, tall_pair, large, middle, square, small});
  if (wide_pair == fewest) return visit(WidePair{});
  if (tall_pair == fewest) return visit(TallPair{});
  if (wide == fewest) return visit(Wide{});
  if (large == fewest) return visit(Large{});
  if (middle == fewest) return visit(Middle{});
  if (square == fewest) return visit(Square{});
  visit(Small{});
}

// The cycles of that tile.
inline double fewest_cycles(const Product& product, int sms) {
  double fewest = 0;
  with_cheapest_tile(product, sms,
                     [&](auto tile) { fewest = estimated_cycles<decltype(tile)>(product, sms); });
  return fewest;
}

}  // namespace matmul::bf16
