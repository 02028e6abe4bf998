// The last page of the ladder: which rung a library would take.
#pragma once

#include <cuda_runtime.h>

#include <string>

#include "07_flash_attention/attention/09_base_2.cuh"
#include "07_flash_attention/attention/10_async_copy.cuh"
#include "07_flash_attention/problem.cuh"
#include "07_flash_attention/shape.hpp"
#include "common/bench/variant.cuh"
#include "common/kit/launch.cuh"

namespace attention {

// Device pointers; shapes as Shape says. Returns the name of the rung that does it: with a causal
// mask, too, the fastest at every size, where the hardware has cp.async (sm_80).
inline std::string chosen(const Shape& shape, const Tensors<float>& t, cudaStream_t stream) {
  if (kit::device_attribute(cudaDevAttrComputeCapabilityMajor) >= 8) {
    async_copy(shape, t, stream);
    return "async_copy";
  }
  base_2(shape, t, stream);
  return "base_2";
}

// Its row.
inline bench::Variant<Fp32> attention_chooser() {
  return bench::chooser<Fp32>(
      "the rung that a library would take",
      [](Fp32& p, cudaStream_t stream) { return chosen(p.shape, p.device_data(), stream); });
}

}  // namespace attention
