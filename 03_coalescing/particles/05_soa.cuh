// soa: a structure of arrays. Every field has an array of its own.
//
// As in `aos`, the source has nine accesses of 4 bytes. The machine code has nine too, because no
// two are neighbours that could be merged. But the x of 32 neighbouring particles now lie side by
// side: each request is 128 bytes in 4 sectors. Fields that nobody asks for stay where they are.
// The price is in the program: a particle is no longer one object, and whoever needs all fields of
// a single particle touches eight lines. What is left: 4 bytes per access.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "common/kit/check.cuh"

namespace particles {

__global__ void particles_soa_kernel(float* fields, std::int64_t pitch, std::int64_t n, float dt) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  float* position = fields + i;                    // x of this particle; y and z lie a pitch apart
  const float* velocity = fields + 3 * pitch + i;  // vx, likewise
  if (i < n) {
    for (int axis = 0; axis < 3; ++axis) {
      position[axis * pitch] = fmaf(dt, velocity[axis * pitch], position[axis * pitch]);
    }
  }
}

// Moves n particles by one step of length dt. Device pointer; field f of particle i is
// fields[f * pitch + i].
inline void particles_soa(float* fields, std::int64_t pitch, std::int64_t n, float dt,
                          cudaStream_t stream) {
  const int block = 256;
  const std::int64_t grid = std::max<std::int64_t>(1, (n + block - 1) / block);
  particles_soa_kernel<<<grid, block, 0, stream>>>(fields, pitch, n, dt);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace particles
