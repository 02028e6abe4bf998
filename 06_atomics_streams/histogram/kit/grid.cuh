// Blocks for a kernel whose grid strides through the input.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/kit/launch.cuh"

namespace histogram {

// Blocks for n items, one per thread, but no more than the device holds at once.
template <class Kernel>
int histogram_grid(Kernel kernel, int block, std::int64_t items) {
  const std::int64_t most = kit::resident_blocks(kernel, block);
  return static_cast<int>(std::clamp<std::int64_t>((items + block - 1) / block, 1, most));
}

}  // namespace histogram
