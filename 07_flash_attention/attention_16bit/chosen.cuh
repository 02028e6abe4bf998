// The last page of the ladder: which rung a library would take.
#pragma once

#include <cuda_runtime.h>

#include <string>

#include "07_flash_attention/attention_16bit/05_lazy_rescale.cuh"
#include "07_flash_attention/attention_16bit/14_longest_first.cuh"
#include "07_flash_attention/attention_16bit/beyond/02_early_scores.cuh"
#include "07_flash_attention/problem.cuh"
#include "07_flash_attention/shape.hpp"
#include "common/bench/device_facts.cuh"
#include "common/bench/variant.cuh"
#include "common/bench/verify.cuh"

namespace attention {

// Device pointers, aligned to 16 bytes; shapes as Shape says. is_hopper: the device and the code
// are for sm_90a. Returns the name of the rung that does it.
template <class T>
std::string chosen(const Shape& shape, const Tensors<T>& t, bool is_hopper, cudaStream_t stream) {
  if (is_hopper) {
    // Where a tile of queries meets many keys, an early beginning of the next one saves little.
    // With d = 256 the next queries come late anyway.
    if (shape.causal || shape.d == 64 || (shape.d == 128 && shape.n_k <= 2048)) {
      early_scores(shape, t, stream);
      return "early_scores";
    }
    longest_first(shape, t, stream);
    return "longest_first";
  }
  lazy_rescale(shape, t, stream);
  return "lazy_rescale";
}

// Its row.
template <class T>
bench::Variant<Problem<T>> chooser_16bit() {
  const auto run = [](Problem<T>& p, cudaStream_t stream) {
    static const bool kIsHopper = bench::why_skipped(bench::device_variant<Problem<T>>(
                                                         "", "", [](Problem<T>&, cudaStream_t) {},
                                                         bench::needs_exactly_sm(90)),
                                                     bench::query_device())
                                      .empty();
    return chosen(p.shape, p.device_data(), kIsHopper, stream);
  };
  auto variant = bench::chooser<Problem<T>>("the rung that a library would take", run);
  variant.needs = bench::needs_sm(80);
  return variant;
}

}  // namespace attention
