// Which rows of a result are compared with the reference, where to compute all of them would take
// too long.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "common/kit/random.cuh"

namespace attention {

// All rows 0 .. all - 1 if so many are affordable; else those of `always`, and `affordable` random
// ones. Ascending, each once.
inline std::vector<std::int64_t> sampled_rows(std::int64_t all, double affordable,
                                              std::initializer_list<std::int64_t> always) {
  std::vector<std::int64_t> rows;
  if (affordable >= static_cast<double>(all)) {
    for (std::int64_t row = 0; row < all; ++row) rows.push_back(row);
    return rows;
  }
  rows = always;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(affordable); ++i) {
    rows.push_back(static_cast<std::int64_t>(kit::random_bits(17, i) % all));
  }
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

}  // namespace attention
