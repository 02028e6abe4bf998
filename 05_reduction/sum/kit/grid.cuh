// How many threads a block of the sum has, and how many blocks a grid that stays on the chip.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/kit/launch.cuh"

namespace reduction {

constexpr int kSumBlock = 256;  // threads

// Blocks of kSumBlock threads for n elements, four per thread: no more than fit on the device
// at once.
template <class Kernel>
int blocks_that_fit(Kernel kernel, std::int64_t n) {
  const std::int64_t most = kit::resident_blocks(kernel, kSumBlock);
  const std::int64_t needed = (n + 4 * kSumBlock - 1) / (4 * kSumBlock);
  return static_cast<int>(std::max<std::int64_t>(1, std::min(most, needed)));
}

}  // namespace reduction
