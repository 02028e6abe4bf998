// aos_vector: the same layout, but a thread takes half a particle per access.
//
// Two float4 loads bring all eight fields, one float4 store returns x, y, z and the vx that it must
// not change: three requests where the compiler had made four of nine. Each still touches 32
// sectors, of which it uses half. Little more can be done for an array of structures without
// changing it. What is left: mass and charge travel along for nothing, and of 32 bytes that are
// written 20 are the old values.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "03_coalescing/particles/kit/particle.cuh"
#include "common/kit/check.cuh"

namespace particles {

__global__ void particles_aos_vector_kernel(Particle* particles, std::int64_t n, float dt) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) {
    // region halves
    float4* halves = reinterpret_cast<float4*>(particles + i);
    const float4 first = halves[0];   // x, y, z, vx
    const float4 second = halves[1];  // vy, vz, mass, charge
    halves[0] = make_float4(fmaf(dt, first.w, first.x), fmaf(dt, second.x, first.y),
                            fmaf(dt, second.y, first.z), first.w);
    // endregion
  }
}

// Moves n particles by one step of length dt. Device pointer, aligned to 16 bytes as Particle is.
inline void particles_aos_vector(Particle* particles, std::int64_t n, float dt,
                                 cudaStream_t stream) {
  const int block = 256;
  const std::int64_t grid = std::max<std::int64_t>(1, (n + block - 1) / block);
  particles_aos_vector_kernel<<<grid, block, 0, stream>>>(particles, n, dt);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace particles
