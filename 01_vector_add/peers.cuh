// Rows to compare with: what a library offers, and the most this machine can do.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <memory>

#include "01_vector_add/problem.cuh"
#include "common/bench/compare.hpp"
#include "common/bench/library_transform.cuh"
#include "common/bench/variant.cuh"
#include "common/bench/yardsticks.cuh"
#include "common/kit/host_buffer.hpp"

namespace vector_add {

struct Plus {
  __host__ __device__ float operator()(float a, float b) const { return a + b; }
};

inline bench::Variant<VectorAdd> vector_add_peer() {
  return bench::transform_peer<VectorAdd>([](VectorAdd& p, auto apply) {
    apply(p.y.device_data(), p.n, Plus{}, p.x.device_data(), p.y.device_data());
  });
}

inline bench::Variant<VectorAdd> vector_add_device_copy() {
  return bench::device_copy(&VectorAdd::x, &VectorAdd::y);
}

// Yardstick of the CPU, after the STREAM benchmark (McCalpin, 1995): its "add" loop, z = x + y,
// with all threads. z is written without having been read, so most processors fetch each line of it
// first. STREAM does not count those bytes. They move, so here they count: 16 per element.
inline bench::Variant<VectorAdd> vector_add_cpu_stream() {
  const auto z = std::make_shared<kit::HostBuffer<float>>();
  bench::Variant<VectorAdd> stream;
  stream.name = "cpu_stream";
  stream.idea = "yardstick: STREAM's add loop, z = x + y, all threads";
  stream.place = bench::Place::cpu;
  stream.kind = bench::Kind::yardstick;
  stream.run = [z](VectorAdd& p, cudaStream_t) {
    if (z->size() != p.n) *z = kit::HostBuffer<float>(p.n);
    const float* x = p.x.host_data();
    const float* y = p.y.host_data();
    float* to = z->data();
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < p.n; ++i) to[i] = x[i] + y[i];
  };
  stream.bytes = [](const VectorAdd& p) { return 4.0 * sizeof(float) * static_cast<double>(p.n); };
  stream.check = [z](const VectorAdd& p) {
    return bench::compare(z->data(), p.expected.data(), p.n, 0.0);
  };
  return stream;
}

}  // namespace vector_add
