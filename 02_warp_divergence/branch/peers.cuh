// Rows to compare with: what a library offers, and the most this machine can do.
#pragma once

#include <cuda_runtime.h>

#include "02_warp_divergence/branch/kit/paths.cuh"
#include "02_warp_divergence/branch/problem.cuh"
#include "common/bench/library_transform.cuh"
#include "common/bench/variant.cuh"
#include "common/bench/yardsticks.cuh"

namespace branch {

struct TakeBranch {
  __device__ float operator()(float x) const {
    return is_expensive(x) ? expensive_path(x) : cheap_path(x);
  }
};

// The peer: the same function of each element, through the library's transform.
inline bench::Variant<Branch> branch_peer() {
  return bench::transform_peer<Branch>([](Branch& p, auto apply) {
    apply(p.y.device_data(), p.n, TakeBranch{}, p.x.device_data());
  });
}

// Yardstick: the device's own copy, which moves the same bytes.
inline bench::Variant<Branch> branch_device_copy() {
  return bench::device_copy(&Branch::x, &Branch::y);
}

}  // namespace branch
