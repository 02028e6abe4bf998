// The last page of the ladder: which rung a library would take.
#pragma once

#include <cuda_runtime.h>

#include <string>

#include "07_flash_attention/attention_16bit/05_lazy_rescale.cuh"
#include "07_flash_attention/attention_16bit/14_longest_first.cuh"
#include "07_flash_attention/shape.hpp"

namespace attention {

// Device pointers, aligned to 16 bytes; shapes as Shape says. is_hopper: the device and the code
// are for sm_90a. Returns the name of the rung that does it.
template <class T>
std::string chosen(const Shape& shape, const Tensors<T>& t, bool is_hopper, cudaStream_t stream) {
  if (is_hopper) {
    longest_first(shape, t, stream);
    return "longest_first";
  }
  lazy_rescale(shape, t, stream);
  return "lazy_rescale";
}

}  // namespace attention
