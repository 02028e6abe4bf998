// Rows to compare with: what a library offers, and the most this machine can do.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <memory>

#include "01_vector_add/problem.cuh"
#include "common/compare.hpp"
#include "common/host_buffer.hpp"
#include "common/library_transform.cuh"
#include "common/variant.cuh"
#include "common/yardsticks.cuh"

struct Plus {
  __host__ __device__ float operator()(float a, float b) const { return a + b; }
};

inline common::Variant<VectorAdd> vector_add_peer() {
  return common::transform_peer<VectorAdd>([](VectorAdd& p, auto apply) {
    apply(p.y.on_device(), p.n, Plus{}, p.x.on_device(), p.y.on_device());
  });
}

inline common::Variant<VectorAdd> vector_add_device_copy() {
  return common::device_copy(&VectorAdd::x, &VectorAdd::y);
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
