// soa_vector: four particles per thread, one float4 per field.
//
// In a structure of arrays a float4 holds the same field of four neighbours, so all of it is used:
// 16 sectors per request, a quarter of the requests, six independent loads in flight per thread.
// The pitch makes every field begin on a 16-byte boundary. All bytes that move are needed now; what
// remains is the bandwidth of the memory.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "common/kit/check.cuh"

namespace particles {

__device__ inline float4 particles_advance(float4 position, float4 velocity, float dt) {
  return make_float4(fmaf(dt, velocity.x, position.x), fmaf(dt, velocity.y, position.y),
                     fmaf(dt, velocity.z, position.z), fmaf(dt, velocity.w, position.w));
}

__global__ void particles_soa_vector_kernel(float* fields, std::int64_t pitch, std::int64_t n,
                                            float dt) {
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t i = 4 * thread;
  float* position = fields + i;
  const float* velocity = fields + 3 * pitch + i;
  if (i + 4 <= n) {
    float4 p[3], v[3];
    for (int axis = 0; axis < 3; ++axis) {
      p[axis] = *reinterpret_cast<const float4*>(position + axis * pitch);
      v[axis] = *reinterpret_cast<const float4*>(velocity + axis * pitch);
    }
    for (int axis = 0; axis < 3; ++axis) {
      *reinterpret_cast<float4*>(position + axis * pitch) = particles_advance(p[axis], v[axis], dt);
    }
  } else {
    for (int rest = 0; rest < n - i; ++rest) {  // the last n % 4 particles
      for (int axis = 0; axis < 3; ++axis) {
        float& moved = position[axis * pitch + rest];
        moved = fmaf(dt, velocity[axis * pitch + rest], moved);
      }
    }
  }
}

// Moves n particles by one step of length dt. Device pointer, aligned to 16 bytes; field f of
// particle i is fields[f * pitch + i], and pitch is a multiple of 4.
inline void particles_soa_vector(float* fields, std::int64_t pitch, std::int64_t n, float dt,
                                 cudaStream_t stream) {
  const int block = 256;
  const std::int64_t per_block = 4 * block;
  const std::int64_t grid = std::max<std::int64_t>(1, (n + per_block - 1) / per_block);
  particles_soa_vector_kernel<<<grid, block, 0, stream>>>(fields, pitch, n, dt);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace particles
