// Rows to compare with: what a library offers, and the most this machine can do.
#pragma once

#include <cuda_runtime.h>

#include "02_warp_divergence/branch/paths.cuh"
#include "02_warp_divergence/branch/problem.cuh"
#include "common/cuda_check.cuh"
#include "common/variant.cuh"

#if __has_include(<cub/device/device_transform.cuh>)
#include <cub/device/device_transform.cuh>
#elif __has_include(<thrust/transform.h>)
#include <thrust/execution_policy.h>
#include <thrust/transform.h>
#endif

struct TakeBranch {
  __device__ float operator()(float x) const { return is_dear(x) ? dear_path(x) : cheap_path(x); }
};

// The peer: the same function of each element through cub::DeviceTransform, part of the toolkit
// since CUDA 12.8, or thrust::transform before.
inline common::Variant<Branch> branch_peer() {
  common::Variant<Branch> peer;
  peer.place = common::Place::device;
  peer.kind = common::Kind::peer;
#if __has_include(<cub/device/device_transform.cuh>)
  peer.name = "cub_transform";
  peer.idea = "peer: cub::DeviceTransform with the branch in its function";
  peer.run = [](Branch& p, cudaStream_t stream) -> common::Phases {
    CUDA_CHECK(cub::DeviceTransform::Transform(p.x.on_device(), p.y.on_device(), p.n, TakeBranch{},
                                               stream));
    return {};
  };
#elif __has_include(<thrust/transform.h>)
  peer.name = "thrust_transform";
  peer.idea = "peer: thrust::transform with the branch in its function";
  peer.run = [](Branch& p, cudaStream_t stream) -> common::Phases {
    const float* x = p.x.on_device();
    thrust::transform(thrust::cuda::par_nosync.on(stream), x, x + p.n, p.y.on_device(),
                      TakeBranch{});
    return {};
  };
#else
  peer.name = "cub_transform";
  peer.idea = "peer: cub::DeviceTransform with the branch in its function";
  peer.needs.missing = "needs CUB, which comes with the CUDA Toolkit";
#endif
  return peer;
}

// Yardstick: the device's own copy, which moves the same bytes.
inline common::Variant<Branch> branch_device_copy() {
  common::Variant<Branch> copy;
  copy.name = "device_copy";
  copy.idea = "yardstick: cudaMemcpyDeviceToDevice from x to y";
  copy.place = common::Place::device;
  copy.kind = common::Kind::yardstick;
  copy.run = [](Branch& p, cudaStream_t stream) -> common::Phases {
    CUDA_CHECK(cudaMemcpyAsync(p.y.on_device(), p.x.on_device(), p.n * sizeof(float),
                               cudaMemcpyDeviceToDevice, stream));
    return {};
  };
  copy.check = [](const Branch& p) {
    return common::compare(p.y.fetched(), p.x.pristine(), p.n, 0.0);
  };
  return copy;
}
