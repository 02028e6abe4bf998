// Which tiles fitted_tile has, and which of them it takes.
#pragma once

#include <cmath>
#include <cstdint>

#include "04_matmul/bf16/kit/cost_model.cuh"
#include "04_matmul/bf16/kit/few_tiles.cuh"
#include "04_matmul/bf16/kit/fitted_shape.cuh"
#include "04_matmul/bf16/kit/remembered_plan.hpp"
#include "04_matmul/kit/gemm_tile.cuh"
#include "common/kit/launch.cuh"

namespace matmul::bf16 {

// Calls visit(tile) with all tiles to choose from.
template <class Visit>
void each_fitted_tile(Visit visit) {
  constexpr Fitted kHeight = Fitted::height, kWidth = Fitted::width;
  visit(FittedTile<kHeight, 1, 1, 64, 1>{});
  visit(FittedTile<kHeight, 1, 1, 96, 1>{});
  visit(FittedTile<kHeight, 1, 1, 128, 1>{});
  visit(FittedTile<kHeight, 1, 1, 160, 1>{});
  visit(FittedTile<kHeight, 2, 1, 64, 2>{});
  visit(FittedTile<kHeight, 2, 1, 64, 4>{});
  visit(FittedTile<kHeight, 2, 1, 96, 4>{});
  visit(FittedTile<kHeight, 2, 1, 112, 1, 2>{});
  visit(FittedTile<kHeight, 2, 1, 144, 1>{});
  visit(FittedTile<kHeight, 2, 1, 160, 1>{});
  visit(FittedTile<kHeight, 2, 1, 160, 2>{});
  visit(FittedTile<kHeight, 2, 1, 168, 1>{});
  visit(FittedTile<kHeight, 2, 1, 208, 1>{});
  visit(FittedTile<kHeight, 2, 1, 208, 1, 2>{});
  visit(FittedTile<kHeight, 2, 1, 224, 1>{});
  visit(FittedTile<kHeight, 3, 1, 96, 2>{});
  visit(FittedTile<kHeight, 3, 1, 144, 2>{});
  visit(FittedTile<kHeight, 3, 1, 160, 1>{});
  visit(FittedTile<kHeight, 3, 1, 160, 2>{});
  visit(FittedTile<kHeight, 3, 1, 176, 1>{});
  visit(FittedTile<kHeight, 3, 1, 176, 2>{});
  visit(FittedTile<kHeight, 3, 1, 192, 1>{});
  visit(FittedTile<kHeight, 3, 1, 192, 2>{});
  visit(FittedTile<kHeight, 2, 2, 152, 2>{});
  visit(FittedTile<kHeight, 2, 2, 152, 1, 2>{});
  visit(FittedTile<kHeight, 2, 2, 160, 1>{});
  visit(FittedTile<kHeight, 2, 2, 160, 2>{});
  visit(FittedTile<kHeight, 2, 2, 176, 1>{});
  visit(FittedTile<kWidth, 1, 1, 256, 4>{});
  visit(FittedTile<kWidth, 2, 1, 80, 2>{});
  visit(FittedTile<kWidth, 2, 1, 96, 4>{});
  visit(FittedTile<kWidth, 2, 1, 128, 4>{});
  visit(FittedTile<kWidth, 2, 1, 224, 2>{});
  visit(FittedTile<kWidth, 2, 2, 160, 2>{});
  visit(FittedTile<kWidth, 2, 2, 160, 1, 2>{});
  visit(FittedTile<kWidth, 2, 2, 192, 1>{});
  visit(FittedTile<kWidth, 2, 2, 192, 1, 2>{});
}

// How many cycles a product takes in such tiles, by the model of kit/cost_model.cuh. Slabs of B, k
// x n, are loaded whole, and lie in more lines where a tile does not begin at a multiple of 64
// columns. Where there is room for one slab of C, a warpgroup waits until TMA has read it; if the
// threads store C (is_loose), it does not. Both were measured on an H200.
template <class T>
double cycles_of_fitted_tile(const Product& product, int sms, bool is_loose) {
  const bool in_slabs = !T::kIsHeight && !product.is_b_transposed && T::kRest > 0;
  const double cols = in_slabs ? 1.32 * 64 * T::kFittedSlabs : T::kTileN;
  const double step = cycles_of_step(
      product, cycles_of_products(T::kTileM * T::kTileN),
      kRowBytes * (product.a_reads * T::kTileM / T::kAcross + product.b_reads * cols / T::kDown));
  const std::int64_t clusters = count_tiles<T>(product.m, product.n) / T::kCluster;
  const bool waits = !is_loose && T::kStaging == 1 && T::kFittedSlabs > 1;
  return kCyclesOfLaunch + (T::kCluster > 1 ? kCyclesOfCluster : 0) +
         kit::divide_up(clusters, most_clusters<T>(sms)) *
             (cycles_of_tile(step, T::kTileM * T::kTileN, product.k) + (waits ? 1500 : 0));
}

// The tile to take. cycles: the fewest, by the model of waves, of tiles that are not small;
// few_cycles: those of the tile by that of few tiles. By the latter it may be a small one.
struct FittedPlan {
  int tile;
  double cycles, few_cycles;
  bool is_small;
};
inline FittedPlan make_fitted_plan(const Product& product, int sms, bool is_loose) {
  FittedPlan plan = {0, HUGE_VAL, HUGE_VAL, false}, small = {0, HUGE_VAL, HUGE_VAL, true};
  int i = 0;
  each_fitted_tile([&](auto tile) {
    using T = decltype(tile);
    const double cycles = cycles_of_fitted_tile<T>(product, sms, is_loose);
    // With a width of 80 it is 20 percent more (at all of 16 products, on an H200).
    const bool is_narrow = !T::kIsHeight && T::kFitted < 96;
    const double few_cycles = (is_narrow ? 1.2 : 1) * cycles_of_few_tiles<T>(product, 1, sms);
    if (!T::kIsSmall) {
      if (cycles < plan.cycles) plan = {i, cycles, few_cycles, false};
    } else if (count_tiles<T>(product.m, product.n) <= sms && few_cycles < small.few_cycles) {
      small = {i, HUGE_VAL, few_cycles, true};
    }
    ++i;
  });
  small.cycles = plan.cycles;  // with other rungs the chooser compares the large one
  return small.few_cycles < plan.few_cycles ? small : plan;
}
inline FittedPlan plan_fitted_tile(const Product& product, int sms, bool is_loose) {
  return remembered_plan(product, 2 * sms + is_loose,
                         [&] { return make_fitted_plan(product, sms, is_loose); });
}

}  // namespace matmul::bf16
