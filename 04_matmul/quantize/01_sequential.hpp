// sequential: the largest elements, then the scales, then the quotients.
//
// A scale is known when the last of its elements has been seen, so x is gone through twice. The
// type __nv_fp8_e4m3 rounds what it is made from to the nearest of its numbers, of two that are
// equally near to the even one, and what is above 448 to 448. What is still wrong: a division and a
// function with branches for each element, one at a time, on one core.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp8.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "04_matmul/kit/scaling.cuh"
#include "04_matmul/quantize/kit/operand.hpp"

namespace matmul::quantize {

// o.q and o.scales from o.x. Host pointers.
inline void quantize_sequential(const Operand& o, Scaling scaling) {
  const ScaleLayout layout = {scaling, o.m, 0, o.k};
  const std::int64_t scales = layout.count_a();
  // region passes
  std::fill(o.scales, o.scales + scales, 0.0f);
  for (std::int64_t i = 0; i < o.m; ++i) {
    for (std::int64_t p = 0; p < o.k; ++p) {
      float& largest = o.scales[layout.index_a(i, p)];
      largest = std::max(largest, std::fabs(static_cast<float>(o.x[i * o.k + p])));
    }
  }
  for (std::int64_t s = 0; s < scales; ++s) o.scales[s] = scale_for(o.scales[s]);
  for (std::int64_t i = 0; i < o.m; ++i) {
    for (std::int64_t p = 0; p < o.k; ++p) {
      const float quotient = static_cast<float>(o.x[i * o.k + p]) / o.scales[layout.index_a(i, p)];
      o.q[i * o.k + p] = __nv_fp8_e4m3(quotient);
    }
  }
  // endregion
}

}  // namespace matmul::quantize
