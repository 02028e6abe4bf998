// The last page of the ladder: which rung a library would take.
#pragma once

#include <cuda_runtime.h>

#include <string>

#include "07_flash_attention/prefill/03_padded.cuh"
#include "07_flash_attention/prefill/08_early_scores.cuh"
#include "07_flash_attention/prefill/problem.cuh"
#include "07_flash_attention/prefill/shape.hpp"
#include "common/bench/device_facts.cuh"
#include "common/bench/variant.cuh"
#include "common/bench/verify.cuh"
#include "common/kit/workspace.cuh"

namespace prefill {

// Device pointers, aligned to 16 bytes; shapes as Shape says. is_hopper: the device and the code
// are for sm_90a. Returns the name of the rung that does it.
template <class T>
std::string chosen(const Shape& shape, const Tensors<T>& t, const Starts& starts, bool is_hopper,
                   const kit::Workspace& workspace, cudaStream_t stream) {
  if (is_hopper) {
    early_scores(shape, t, starts, workspace, stream);
    return "early_scores";
  }
  padded(shape, t, starts, workspace, stream);
  return "padded";
}

// Its row.
inline bench::Variant<Prefill> chooser() {
  auto variant = bench::chooser<Prefill>(
      "the rung that a library would take", [](Prefill& p, cudaStream_t stream) {
        static const bool kIsHopper = bench::why_skipped(bench::device_variant<Prefill>(
                                                             "", "", [](Prefill&, cudaStream_t) {},
                                                             bench::needs_exactly_sm(90)),
                                                         bench::query_device())
                                          .empty();
        return chosen(p.shape, p.device_data(), p.device_starts(), kIsHopper, p.workspace, stream);
      });
  variant.needs = bench::needs_sm(80);
  return variant;
}

}  // namespace prefill
