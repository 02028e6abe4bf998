// The last page of the ladder: which rung a library would take.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#include "03_coalescing/window/06_constant.cuh"
#include "03_coalescing/window/08_four_outputs.cuh"
#include "03_coalescing/window/09_unrolled.cuh"
#include "03_coalescing/window/problem.cuh"
#include "common/bench/variant.cuh"
#include "common/kit/launch.cuh"

namespace window {

// As window_constant(), for any radius up to kMaxRadius and any pointers. Returns the name of the
// rung that does it.
inline std::string window_chosen(const float* x, float* y, std::int64_t n, int radius,
                                 cudaStream_t stream) {
  if (unrolled_kernel(radius) != nullptr && kit::is_aligned_to_16(x) && kit::is_aligned_to_16(y)) {
    window_unrolled(x, y, n, radius, stream);
    return "unrolled";
  }
  if (kit::is_aligned_to_16(y)) {
    window_four_outputs(x, y, n, radius, stream);
    return "four_outputs";
  }
  window_constant(x, y, n, radius, stream);
  return "constant";
}

// Its row.
inline bench::Variant<Window> window_chooser() {
  return bench::chooser<Window>(
      "a library's choice: by radius and alignment", [](Window& p, cudaStream_t stream) {
        use_weights_of(p, stream);
        return window_chosen(p.x.device_data(), p.y.device_data(), p.n, p.radius, stream);
      });
}

}  // namespace window
