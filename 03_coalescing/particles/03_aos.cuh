// aos: the array of structures on the GPU, one thread per particle.
//
// The lanes of a warp read p.x of 32 particles at the same time, and those floats lie 32 bytes
// apart: whatever a request asks for, it touches 32 sectors. The source has nine accesses of 4
// bytes. Particle is aligned to 16 bytes, so nvcc may merge neighbours and makes four requests of
// them: x y z vx, then vy vz are loaded, then x y, then z are stored. All come to the same sectors
// again, which L1 holds. What is wrong: the layout.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "03_coalescing/particles/kit/particle.cuh"
#include "common/kit/check.cuh"

namespace particles {

__global__ void particles_aos_kernel(Particle* particles, std::int64_t n, float dt) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) {
    Particle& p = particles[i];
    p.x = fmaf(dt, p.vx, p.x);
    p.y = fmaf(dt, p.vy, p.y);
    p.z = fmaf(dt, p.vz, p.z);
  }
}

// Moves n particles by one step of length dt. Device pointer.
inline void particles_aos(Particle* particles, std::int64_t n, float dt, cudaStream_t stream) {
  const int block = 256;
  const std::int64_t grid = std::max<std::int64_t>(1, (n + block - 1) / block);
  particles_aos_kernel<<<grid, block, 0, stream>>>(particles, n, dt);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace particles
