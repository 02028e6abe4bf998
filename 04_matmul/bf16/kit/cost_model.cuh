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
  bool is_b_transposed;  // n x k
  // In which the L2 cache delivers 1 KB to each SM. The longer a product lasts, the more power
  // lowers the clock of the SMs, and not that of the cache.
  double cycles_of_kilobyte;

  Product(std::int64_t m, std::int64_t n, std::int64_t k, double a_reads, double b_reads,
          bool is_b_transposed)
      : m(m),
        n(n),
        k(k),
        a_reads(a_reads),
        b_reads(b_reads),
        is_b_transposed(is_b_transposed),
        cycles_of_kilobyte(21 - 5.3 * std::pow(std::min(1.0, 1.0 * m * n * k / 6.5e10), 0.4)) {}
  template <bool kTransposedB>
  static Product of(const Operands& x, std::int64_t m, std::int64_t n, std::int64_t k) {
    return {m, n, k, reads(x.a.pitch), reads(x.b.pitch), kTransposedB};
  }
  template <bool kTransposedB>
  static Product of(std::int64_t m, std::int64_t n, std::int64_t k) {
    return {m, n, k, reads(k), reads(kTransposedB ? k : n), kTransposedB};
  }
  // A row of a tile has 128 bytes, four sectors. If the rows of the matrix, of so many elements, do
  // not begin at lines of the cache, it lies in two lines; if not even at sectors, in five sectors.
  // What that costs was measured on an H200.
  static double reads(std::int64_t elements) {
    return elements % 64 == 0 ? 1 : elements % 16 == 0 ? 1.25 : 1.7;
  }
};

// The model's numbers come from kernels that were timed on an H200: 26 at 88 shapes in both layouts
// of B, and once more, for clusters and for the list of fitted tiles, some 80 at 103 shapes. Of
// these 103 the tile that it took then was 1.9 % slower than the best, on average.
constexpr double kCyclesOfLaunch = 8000, kCyclesOfCluster = 2500, kCyclesOfCopies = 520;

// An SM computes 64 x 64 elements of C in 128 cycles for each k tile; in tiles that are smaller
// than 128 x 256 somewhat more slowly.
inline double cycles_of_products(double elements) {
  return (elements < 128 * 256 ? 1.04 : 1) * elements / 32;
}
// The cycles of one k tile: those of its products. Or the L2 cache is the limit, which has to
// deliver so many bytes; if both take as long, it is 4 % longer than either. And no tile is so
// small that its copies do not take some time.
inline double cycles_of_step(const Product& product, double of_products, double bytes) {
  const double of_bytes = product.cycles_of_kilobyte * bytes / 1024;
  const auto [less, more] = std::minmax(of_products, of_bytes);
  double power = less / more;
  for (int i = 0; i < 4; ++i) power *= power;  // the 16th
  return std::max(kCyclesOfCopies, more * std::sqrt(std::sqrt(std::sqrt(std::sqrt(1 + power)))));
}
template <class T>
double cycles_of_k_tile(const Product& product) {
  constexpr double kSlower = T::kTileM == 64 ? 1.1 : 1;  // one warpgroup cannot hide its waits
  return cycles_of_step(product, cycles_of_products(kSlower * T::kTileM * T::kTileN),
                        product.a_reads * T::kBytesA + product.b_reads * T::kBytesB / T::kCluster);
}
// A tile of C with so many elements: its k tiles, and to store it.
inline double cycles_of_store(int elements) { return 0.073 * elements; }
inline double cycles_of_tile(double of_k_tile, int elements, std::int64_t k) {
  return of_k_tile * kit::divide_up(k, kTileK) + cycles_of_store(elements);
}
template <class T>
double estimated_cycles(const Product& product, int sms) {
  constexpr int kCluster = T::kCluster;
  const std::int64_t tiles = std::int64_t{kit::divide_up(product.m, T::kTileM * kCluster)} *
                             kit::divide_up(product.n, T::kTileN);
  return kCyclesOfLaunch + (kCluster > 1 ? kCyclesOfCluster : 0) +
         kit::divide_up(tiles, sms / kCluster) *
             cycles_of_tile(cycles_of_k_tile<T>(product), T::kTileM * T::kTileN, product.k);
}

// Calls visit(tile) with the tile that should take the fewest cycles.
template <class Visit>
void with_cheapest_tile(const Product& product, int sms, Visit visit) {
  const double wide = estimated_cycles<Wide>(product, sms);
  const double wide_pair = estimated_cycles<WidePair>(product, sms);
  const double tall_pair = estimated_cycles<TallPair>(product, sms);
  const double middle = estimated_cycles<Middle>(product, sms);
  const double square = estimated_cycles<Square>(product, sms);
  const double small = estimated_cycles<Small>(product, sms);
  const double fewest = std::min({wide, wide_pair, tall_pair, middle, square, small});
  // As good as equal: pairs read B's tiles once, and should save power.
  if (wide_pair <= 1.02 * fewest) return visit(WidePair{});
  if (tall_pair == fewest) return visit(TallPair{});
  if (wide == fewest) return visit(Wide{});
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
