// The weights of the window in constant memory, and how many there may be.
#pragma once

#include <cuda_runtime.h>

#include "common/kit/check.cuh"

namespace window {

constexpr int kMaxRadius = 64;
constexpr int kMaxTaps = 2 * kMaxRadius + 1;  // a tap: one product of the sum

__constant__ float window_weights[kMaxTaps];

// Copies the weights into constant memory; `weights` is a host pointer to `taps` floats.
inline void window_set_weights(const float* weights, int taps, cudaStream_t stream) {
  CUDA_CHECK(cudaMemcpyToSymbolAsync(window_weights, weights, taps * sizeof(float), 0,
                                     cudaMemcpyHostToDevice, stream));
}

}  // namespace window
