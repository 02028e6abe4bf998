// Which tile by_shape takes, and in how many parts each sum: a small model of the time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "04_matmul/fp8/kit/fp8_tile.cuh"
#include "04_matmul/fp8/kit/shaped_tile.cuh"
#include "04_matmul/kit/scaling.cuh"
#include "common/kit/launch.cuh"

namespace matmul::fp8 {

// Calls visit(tile, microseconds of a k tile of it) with all tiles to choose from. These times, and
// the other numbers of the model, were fitted to some 2000 times at 72 shapes on an H200.
template <class Visit>
void each_shaped_tile(Visit visit) {
  constexpr Rigid kA = Rigid::a, kB = Rigid::b;
  visit(ShapedTile<kB, 1, 4, 8, 1, 1>{}, 0.119);
  visit(ShapedTile<kB, 1, 1, 8, 1, 4>{}, 0.209);
  visit(ShapedTile<kB, 1, 4, 16, 1, 1>{}, 0.133);
  visit(ShapedTile<kB, 1, 1, 16, 1, 4>{}, 0.208);
  visit(ShapedTile<kB, 1, 4, 32, 1, 1>{}, 0.133);
  visit(ShapedTile<kB, 1, 2, 32, 4, 2>{}, 0.208);
  visit(ShapedTile<kB, 1, 2, 64, 1, 2>{}, 0.215);
  visit(ShapedTile<kB, 1, 2, 128, 1, 1>{}, 0.213);
  visit(ShapedTile<kA, 1, 2, 64, 1, 1>{}, 0.138);
  visit(ShapedTile<kA, 1, 2, 128, 1, 1>{}, 0.224);
  visit(ShapedTile<kA, 1, 2, 192, 1, 1>{}, 0.284);
  visit(ShapedTile<kA, 2, 1, 128, 1, 1>{}, 0.358);
  visit(ShapedTile<kA, 2, 1, 192, 1, 1>{}, 0.56);
}

// Tile number `tile` of the list, and sums in `parts` parts; the time that this should take.
struct ShapePlan {
  int tile, parts;
  double us;
};

// Whichever kernel does it, B has to be read; and it starts, and ends. Reading and working hide
// each other but for a part of the shorter one.
constexpr double kBytesPerUs = 3.44e6, kUsOfLaunch = 2.5, kUsOfTile = 1.5, kNotHidden = 0.1;
// To leave parts in memory, and to add them up.
constexpr double kUsOfParts = 1, kUsOfMegabyte = 0.59;
constexpr double kBlocksAreSlower = 1.2;            // with scales of blocks
constexpr std::int64_t kMostPartsBytes = 16 << 20;  // of all parts

// Whether a tile comes into question for m rows of A: where B is rigid, its rows are to be read
// once, and A's to fill more than half of the tile. From 65 rows on B may be read again.
template <class T>
bool takes_rows(std::int64_t m) {
  constexpr int kFitted = T::kFitted;
  if (T::kRigid == Rigid::a) return true;
  return (m <= kFitted || (kFitted >= 64 && m <= 512)) && (kFitted == 8 || 2 * m > kFitted);
}

template <class T>
double us_by_shape(Scaling scaling, std::int64_t m, std::int64_t n, std::int64_t k, int parts,
                   double us_of_step, int sms) {
  constexpr bool kIsB = T::kRigid == Rigid::b;
  const std::int64_t tiles = std::int64_t{kit::divide_up(m, T::kTileM * (kIsB ? 1 : T::kCluster))} *
                             kit::divide_up(n, T::kTileN * (kIsB ? T::kCluster : 1));
  // Four blocks must fit into a GPC (a group of SMs): 30 such clusters fit on an H200, not 33.
  const int clusters = T::kBlocks * (T::kCluster == 4 ? sms * 10 / 44 : sms / T::kCluster);
  const double waves = kit::divide_up(tiles * parts, std::max(1, clusters));
  const int k_tiles = kit::divide_up(kit::divide_up(k, kTileK), parts);
  const double step = us_of_step * (scaling == Scaling::blocks ? kBlocksAreSlower : 1);
  const double reading = 1.0 * n * k / kBytesPerUs;
  const double working = waves * (k_tiles * step + kUsOfTile);
  const double us = std::max(reading, working) + kNotHidden * std::min(reading, working);
  const double megabytes = parts == 1 ? 0 : 4e-6 * parts * m * n;
  return kUsOfLaunch + us + (parts == 1 ? 0 : kUsOfParts) + kUsOfMegabyte * megabytes;
}

inline ShapePlan plan_by_shape(Scaling scaling, std::int64_t m, std::int64_t n, std::int64_t k,
                               int sms) {
  ShapePlan plan = {0, 1, HUGE_VAL};
  const int most = kit::divide_up(k, kTileK);
  int number = -1;
  each_shaped_tile([&](auto tile, double us_of_step) {
    ++number;
    if (!takes_rows<decltype(tile)>(m)) return;
    for (int parts = 1; parts <= std::min(8, most); ++parts) {
      if (parts > 1 && 4 * parts * m * (n + 7) > kMostPartsBytes) break;
      const double us = us_by_shape<decltype(tile)>(scaling, m, n, k, parts, us_of_step, sms);
      if (us < plan.us) plan = {number, parts, us};
    }
  });
  return plan;
}

// Bytes of memory that its parts take.
inline std::int64_t bytes_of_parts(const ShapePlan& plan, std::int64_t m, std::int64_t n) {
  return plan.parts == 1 ? 0 : 4 * plan.parts * m * kit::divide_up(n, 8) * 8;
}

}  // namespace matmul::fp8
