// Which tiles split_k has, and into how many parts it splits their sums.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "04_matmul/bf16/kit/cost_model.cuh"
#include "04_matmul/bf16/kit/few_tiles.cuh"
#include "04_matmul/bf16/kit/fitted_shape.cuh"
#include "04_matmul/bf16/kit/remembered_plan.hpp"
#include "04_matmul/bf16/kit/shaped_tile.cuh"
#include "04_matmul/kit/gemm_tile.cuh"
#include "common/kit/launch.cuh"

namespace matmul::bf16 {

// Calls visit(tile) with all tiles to choose from.
template <class Visit>
void each_split_tile(Visit visit) {
  constexpr Fitted kHeight = Fitted::height;
  visit(FittedTile<kHeight, 1, 1, 96, 1>{});
  visit(FittedTile<kHeight, 1, 1, 112, 1>{});
  visit(FittedTile<kHeight, 1, 1, 144, 1>{});
  visit(FittedTile<kHeight, 1, 1, 160, 1>{});
  visit(FittedTile<kHeight, 2, 1, 96, 1>{});
  visit(FittedTile<kHeight, 2, 1, 112, 1>{});
  visit(FittedTile<kHeight, 2, 1, 112, 1, 2>{});
  visit(FittedTile<kHeight, 2, 1, 128, 1>{});
  visit(FittedTile<kHeight, 2, 1, 144, 1>{});
  visit(FittedTile<kHeight, 2, 1, 160, 1>{});
  visit(FittedTile<kHeight, 2, 1, 160, 1, 2>{});
  visit(FittedTile<kHeight, 2, 1, 192, 1>{});
  visit(FittedTile<kHeight, 3, 1, 128, 1>{});
}

// In which tiles, and into how many parts each sum is split, and the cycles that this should take.
struct SplitPlan {
  int tile, parts;
  double cycles;
};

// One part, unless more should be faster than the smallest tiles of by_shape.
constexpr std::int64_t kMostSplitBytes = 16 << 20;  // of partial sums, if there are several parts
inline SplitPlan make_split_plan(const Product& product, int sms) {
  const int k_tiles = kit::divide_up(product.k, kTileK);
  SplitPlan plan = {0, 1, HUGE_VAL};
  if (count_tiles<Small>(product.m, product.n) <= sms) {
    plan.cycles = cycles_of_few_tiles<Small>(product, 1, sms);
  }
  int number = 0;
  each_split_tile([&](auto tile) {
    using T = decltype(tile);
    const std::int64_t tiles = count_tiles<T>(product.m, product.n);
    const std::int64_t most = std::min({sms / tiles, std::int64_t{k_tiles},
                                        kMostSplitBytes / (tiles * T::kTileM * T::kTileN * 4)});
    for (int parts = 2; parts <= most; parts = next_parts(k_tiles, parts)) {
      const double cycles = cycles_of_few_tiles<T>(product, parts, sms);
      if (cycles < plan.cycles) plan = {number, parts, cycles};
    }
    ++number;
  });
  return plan;
}
inline SplitPlan plan_split_k(const Product& product, int sms) {
  return remembered_plan(product, sms, [&] { return make_split_plan(product, sms); });
}
// Calls visit(tile) with the tile of a plan.
template <class Visit>
void with_split_tile(const SplitPlan& plan, Visit visit) {
  int i = 0;
  each_split_tile([&](auto tile) {
    if (i++ == plan.tile) visit(tile);
  });
}

}  // namespace matmul::bf16
