// The online softmax: the maximum of some elements and their sum of exponentials, taken in one
// pass.
#pragma once

#include <cuda_runtime.h>

#include <cmath>

#include "07_flash_attention/softmax/kit/row_chunks.cuh"

namespace softmax {

// The maximum of some elements, and the sum of exp(x - max) over them. No element: -inf, 0.
struct OnlineSum {
  float max, sum;
  static __device__ OnlineSum of_nothing() { return {-INFINITY, 0}; }

  template <int kWide>
  __device__ void add(const Chunk<kWide>& chunk) {
    float new_max = chunk.x[0];
    for (int i = 1; i < kWide; ++i) new_max = fmaxf(new_max, chunk.x[i]);
    if (new_max > max) {  // rare once some elements have been seen
      sum *= __expf(max - new_max);
      max = new_max;
    }
    for (int i = 0; i < kWide; ++i) sum += __expf(chunk.x[i] - max);
  }

  __device__ OnlineSum from_lane(int step) const {
    OnlineSum other;
    other.max = __shfl_xor_sync(0xffffffff, max, step);
    other.sum = __shfl_xor_sync(0xffffffff, sum, step);
    return other;
  }

  // Of both sets of elements together. The sum with the smaller maximum is corrected.
  static __device__ OnlineSum join(OnlineSum a, OnlineSum b) {
    const bool a_leads = a.max >= b.max;
    const OnlineSum high = a_leads ? a : b, low = a_leads ? b : a;
    OnlineSum both = high;
    if (low.sum > 0) both.sum += low.sum * __expf(low.max - high.max);
    return both;
  }
};

}  // namespace softmax
