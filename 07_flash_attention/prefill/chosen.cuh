// The last page of the ladder: which rung a library would take.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#include "07_flash_attention/prefill/03_padded.cuh"
#include "07_flash_attention/prefill/06_windowed.cuh"
#include "07_flash_attention/prefill/07_grouped.cuh"
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
  // With d = 128 tiles of 128 queries do a little better, if sequences of one length fill them.
  const bool fills_tiles =
      shape.longest % 128 == 0 && std::int64_t{shape.longest} * shape.batch == shape.q_tokens;
  if (is_hopper && shape.d == 128 && fills_tiles) {
    windowed(shape, t, starts, workspace, stream);
    return "windowed";
  }
  if (is_hopper) {
    grouped(shape, t, starts, workspace, stream);
    return "grouped";
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
