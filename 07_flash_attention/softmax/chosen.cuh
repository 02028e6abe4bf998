// The last page of the ladder: which rung a library would take.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#include "07_flash_attention/softmax/05_online.cuh"
#include "07_flash_attention/softmax/06_cached.cuh"
#include "07_flash_attention/softmax/07_warp.cuh"
#include "07_flash_attention/softmax/problem.cuh"
#include "common/bench/variant.cuh"

namespace softmax {

constexpr std::int64_t kCachedFrom = 8192;  // columns

// y = softmax of each row of x. Device pointers, row-major. Returns the name of the rung that does
// it: the one that keeps a row as near as it fits. Rows of some thousand columns stay in the L2
// cache anyway, and are done sooner where more blocks share an SM (measured on an H200).
inline std::string chosen(const float* x, float* y, std::int64_t rows, std::int64_t columns,
                          cudaStream_t stream) {
  if (columns <= kWarpColumns) {
    warp(x, y, rows, columns, stream);
    return "warp";
  }
  if (columns > kCachedFrom && columns <= longest_cached_row()) {
    cached(x, y, rows, columns, stream);
    return "cached";
  }
  online(x, y, rows, columns, stream);
  return "online";
}

// Its row.
inline bench::Variant<Softmax> softmax_chooser() {
  return bench::chooser<Softmax>("the rung that a library would take", on_device(chosen));
}

}  // namespace softmax
