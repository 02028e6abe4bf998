// sequential: one core, one running total.
//
// The total sits in a register and is stored once, at the end: nobody else wants it meanwhile.
// That is the whole trouble with the rungs below. What is still wrong: a thousand times fewer
// additions at once than a GPU could do.
#pragma once

#include <cstdint>

namespace one_cell {

// The sum of x[0 .. n). Host pointer.
inline unsigned long long one_cell_sequential(const std::uint16_t* x, std::int64_t n) {
  unsigned long long total = 0;
  for (std::int64_t i = 0; i < n; ++i) total += x[i];
  return total;
}

}  // namespace one_cell
