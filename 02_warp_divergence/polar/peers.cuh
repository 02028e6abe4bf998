// Rows to compare with: what a library offers, and the most this machine can do.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#include "02_warp_divergence/polar/07_coarsened.cuh"
#include "02_warp_divergence/polar/problem.cuh"
#include "common/bench/library_transform.cuh"
#include "common/bench/variant.cuh"
#include "common/kit/check.cuh"
#include "common/kit/host_buffer.hpp"

namespace polar {

struct ToCartesian {
  __device__ float2 operator()(float angle) const {
    float2 point;
    sincosf(angle, &point.y, &point.x);
    return point;
  }
};

// The peer: the same function of each angle, through the library's transform.
inline bench::Variant<Polar> polar_peer() {
  return bench::transform_peer<Polar>([](Polar& p, auto apply) {
    apply(p.points_on_device(), p.n, ToCartesian{}, p.phi.device_data());
  });
}

// z[i] = (phi[i], -phi[i]): reads 4 bytes and writes 8 per element, like the problem, and computes
// nothing to speak of. Once as plainly as possible, and once with four elements per thread.
__global__ void polar_stream_kernel(const float* phi, float2* z, std::int64_t n) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) z[i] = make_float2(phi[i], -phi[i]);
}
struct Copied {
  __device__ static float2 point(float angle) { return make_float2(angle, -angle); }
};
__global__ void __launch_bounds__(kCoarsenedBlock)
    polar_stream_coarsened_kernel(const float* phi, float2* z, std::int64_t n) {
  coarsened_points<Copied, kAnglesPerThread>(phi, z, n);
}

// A yardstick: how long the bytes alone take.
template <class Run>
bench::Variant<Polar> polar_yardstick(const std::string& name, const std::string& idea, Run run) {
  bench::Variant<Polar> stream = bench::device_variant<Polar>(name, idea, run);
  stream.kind = bench::Kind::yardstick;
  stream.check = [](const Polar& p) {
    kit::HostBuffer<float> copies(2 * p.n);
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < p.n; ++i) {
      copies[2 * i] = p.phi.pristine()[i];
      copies[2 * i + 1] = -p.phi.pristine()[i];
    }
    return bench::compare(p.z.fetched(), copies.data(), 2 * p.n, 0.0);
  };
  return stream;
}

inline bench::Variant<Polar> polar_stream() {
  return polar_yardstick("stream", "yardstick: the same bytes without the mathematics",
                         [](Polar& p, cudaStream_t stream) {
                           const int block = 256;
                           const std::int64_t grid = (p.n + block - 1) / block;
                           polar_stream_kernel<<<grid, block, 0, stream>>>(
                               p.phi.device_data(), p.points_on_device(), p.n);
                           CUDA_CHECK(cudaGetLastError());
                         });
}

inline bench::Variant<Polar> polar_stream_coarsened() {
  return polar_yardstick("stream_coarsened", "yardstick: the same, several elements per thread",
                         [](Polar& p, cudaStream_t stream) {
                           const std::int64_t grid = coarsened_grid(p.n, kAnglesPerThread);
                           polar_stream_coarsened_kernel<<<grid, kCoarsenedBlock, 0, stream>>>(
                               p.phi.device_data(), p.points_on_device(), p.n);
                           CUDA_CHECK(cudaGetLastError());
                         });
}

}  // namespace polar
