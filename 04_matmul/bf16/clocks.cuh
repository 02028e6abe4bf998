// How long a product takes with tiles of one shape: a small model, by which the last rungs choose.
#pragma once

#include <algorithm>
#include <cstdint>

#include "04_matmul/bf16/hopper.cuh"
#include "04_matmul/sgemm/tiles.cuh"

// What the model has to know of a product. a_reads, b_reads: how many times the bytes of A's
// and B's tiles the L2 cache has to deliver.
struct Product {
  std::int64_t m, n, k;
  double a_reads, b_reads;

  template <bool kTransposedB>
  static Product of(std::int64_t m, std::int64_t n, std::int64_t k) {
    return {m, n, k, reads(k), reads(kTransposedB ? k : n)};
  }
  // A row of a tile has 128 bytes, four sectors. Where the matrix's rows of so many elements begin
  // at odd places it lies in two lines of the cache, and in five sectors where they begin within
  // one. What that costs was measured on an H200.
  static double reads(std::int64_t elements) {
    return elements % 64 == 0 ? 1 : elements % 16 == 0 ? 1.25 : 1.7;
  }
};

// The clocks of one step of k. An SM computes 64 x 64 elements of C in 128; small tiles take
// somewhat longer. Or the L2 cache is the limit: it delivers 1 KB to each SM in 15 clocks. That,
// and what a tile and a launch cost beside, was measured on an H200.
constexpr double kClocksOfLaunch = 3000, kClocksOfKilobyte = 15;
template <class T>
double clocks_of_step(const Product& product) {
  constexpr double kSlower = T::kRows == 64 ? 1.3 : T::kRows * T::kCols < 128 * 256 ? 1.03 : 1;
  const double from_l2 =
      product.a_reads * T::kBytesA + product.b_reads * T::kBytesB / T::kBlocksOfCluster;
  return std::max(kSlower * T::kRows * T::kCols / 32, kClocksOfKilobyte / 1024 * from_l2);
}
// A tile with so many elements: its steps, and to store it.
inline double clocks_of_tile(double clocks_of_its_step, int elements, std::int64_t k) {
  return clocks_of_its_step * divide_up(k, kStep) + 500 + 0.06 * elements;
}
template <class T>
double clocks_by_shape(const Product& product, int sms) {
  constexpr int kCluster = T::kBlocksOfCluster;
  const std::int64_t tiles =
      std::int64_t{divide_up(product.m, T::kRows * kCluster)} * divide_up(product.n, T::kCols);
  return kClocksOfLaunch +
         divide_up(tiles, sms / kCluster) *
             clocks_of_tile(clocks_of_step<T>(product), T::kRows * T::kCols, product.k);
}
