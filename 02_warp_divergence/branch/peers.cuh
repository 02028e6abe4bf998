// Rows to compare with: what a library offers, and the most this machine can do.
#pragma once

#include <cuda_runtime.h>

#include "02_warp_divergence/branch/paths.cuh"
#include "02_warp_divergence/branch/problem.cuh"
#include "common/library_transform.cuh"
#include "common/variant.cuh"
#include "common/yardsticks.cuh"

struct TakeBranch {
  __device__ float operator()(float x) const {
    return is_expensive(x) ? expensive_path(x) : cheap_path(x);
  }
};

// The peer: the same function of each element, through the library's transform.
inline common::Variant<Branch> branch_peer() {
  return common::transform_peer<Branch>(
      [](Branch& p, auto apply) { apply(p.y.on_device(), p.n, TakeBranch{}, p.x.on_device()); });
}

// Yardstick: the device's own copy, which moves the same bytes.
inline common::Variant<Branch> branch_device_copy() {
  return common::device_copy(&Branch::x, &Branch::y);
}
