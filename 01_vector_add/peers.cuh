// Rows to compare with: what a library offers, and the most this machine can do.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <memory>

#include "01_vector_add/problem.cuh"
#include "common/cuda_check.cuh"
#include "common/variant.cuh"

#if __has_include(<cub/device/device_transform.cuh>)
#include <cub/device/device_transform.cuh>
#include <cuda/std/tuple>
#elif __has_include(<thrust/transform.h>)
#include <thrust/execution_policy.h>
#include <thrust/transform.h>
#endif

struct Plus {
  __host__ __device__ float operator()(float a, float b) const { return a + b; }
};

// The peer: cub::DeviceTransform, part of the toolkit since CUDA 12.8, or thrust::transform before.
inline common::Variant<VectorAdd> vector_add_peer() {
  common::Variant<VectorAdd> peer;
  peer.place = common::Place::device;
  peer.kind = common::Kind::peer;
#if __has_include(<cub/device/device_transform.cuh>)
  peer.name = "cub_transform";
  peer.idea = "peer: cub::DeviceTransform";
  peer.run = [](VectorAdd& p, cudaStream_t stream) -> common::Phases {
    const auto inputs = cuda::std::make_tuple(p.x.on_device(), p.y.on_device());
    CUDA_CHECK(cub::DeviceTransform::Transform(inputs, p.y.on_device(), p.n, Plus{}, stream));
    return {};
  };
#elif __has_include(<thrust/transform.h>)
  peer.name = "thrust_transform";
  peer.idea = "peer: thrust::transform";
  peer.run = [](VectorAdd& p, cudaStream_t stream) -> common::Phases {
    const float* x = p.x.on_device();
    float* y = p.y.on_device();
    thrust::transform(thrust::cuda::par_nosync.on(stream), x, x + p.n, y, y, Plus{});
    return {};
  };
#else
  peer.name = "cub_transform";
  peer.idea = "peer: cub::DeviceTransform";
  peer.needs.missing = "needs CUB, which comes with the CUDA Toolkit";
#endif
  return peer;
}

// Yardstick of the device: its own copy, which reads and writes n floats.
inline common::Variant<VectorAdd> vector_add_device_copy() {
  common::Variant<VectorAdd> copy;
  copy.name = "device_copy";
  copy.idea = "yardstick: cudaMemcpyDeviceToDevice from x to y";
  copy.place = common::Place::device;
  copy.kind = common::Kind::yardstick;
  copy.run = [](VectorAdd& p, cudaStream_t stream) -> common::Phases {
    CUDA_CHECK(cudaMemcpyAsync(p.y.on_device(), p.x.on_device(), p.n * sizeof(float),
                               cudaMemcpyDeviceToDevice, stream));
    return {};
  };
  copy.bytes = [](const VectorAdd& p) { return 2.0 * sizeof(float) * static_cast<double>(p.n); };
  copy.check = [](const VectorAdd& p) {
    return common::compare(p.y.fetched(), p.x.pristine(), p.n, 0.0);
  };
  return copy;
}

// Yardstick of the CPU, after the STREAM benchmark (McCalpin, 1995): its "add" loop, z = x + y,
// with all threads. z is written without having been read, so most processors fetch each line of it
// first. STREAM does not count those bytes; they move, so here they do: 16 an element.
inline common::Variant<VectorAdd> vector_add_cpu_stream() {
  const auto z = std::make_shared<common::HostBuffer<float>>();
  common::Variant<VectorAdd> stream;
  stream.name = "cpu_stream";
  stream.idea = "yardstick: STREAM's add loop, z = x + y, all threads";
  stream.place = common::Place::cpu;
  stream.kind = common::Kind::yardstick;
  stream.run = [z](VectorAdd& p, cudaStream_t) -> common::Phases {
    if (z->size() != p.n) *z = common::HostBuffer<float>(p.n);
    const float* x = p.x.on_host();
    const float* y = p.y.on_host();
    float* to = z->data();
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < p.n; ++i) to[i] = x[i] + y[i];
    return {};
  };
  stream.bytes = [](const VectorAdd& p) { return 4.0 * sizeof(float) * static_cast<double>(p.n); };
  stream.check = [z](const VectorAdd& p) {
    return common::compare(z->data(), p.expected.data(), p.n, 0.0);
  };
  return stream;
}
