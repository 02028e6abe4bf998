// curand_host: the library fills an array with random numbers, a kernel reads it.
//
// cuRAND's host API is called like any other library: make a generator, seed it, ask for m floats
// in device memory. Nothing of it need be understood. But each point costs 8 bytes written and 8
// read for a handful of operations: a problem without data has become one of memory bandwidth. To
// bound the array, the points come in batches. What is still wrong: the trip through memory.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "06_atomics_streams/kit/add_block_to_cell.cuh"
#include "common/kit/check.cuh"
#include "common/kit/device_buffer.cuh"
#include "common/kit/launch.cuh"

#if __has_include(<curand.h>)
#include <curand.h>
#endif

namespace pi {

// Adds to *hits how many of the `points` pairs (xy[2 i], xy[2 i + 1]) lie in the quarter circle.
__global__ void pi_curand_host_kernel(const float2* xy, std::int64_t points,
                                      unsigned long long* hits) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  unsigned long long mine = 0;
  for (std::int64_t i = first; i < points; i += stride) {
    mine += xy[i].x * xy[i].x + xy[i].y * xy[i].y <= 1.0f;
  }
  atomics_streams::add_block_to_cell(mine, hits);
}

#if __has_include(<curand.h>)

inline void check_curand(curandStatus_t status, const char* call) {
  if (status != CURAND_STATUS_SUCCESS) {
    throw std::runtime_error(std::string(call) + ": cuRAND status " + std::to_string(status));
  }
}

// The generator and the array between the two, made once.
class CurandHost {
 public:
  CurandHost() : xy_(2 * kBatch) {
    check_curand(curandCreateGenerator(&generator_, CURAND_RNG_PSEUDO_PHILOX4_32_10),
                 "curandCreateGenerator");
  }
  ~CurandHost() { curandDestroyGenerator(generator_); }
  CurandHost(const CurandHost&) = delete;
  CurandHost& operator=(const CurandHost&) = delete;

  // *hits (device pointer) = how many of n points hit. The same seed gives the same points again.
  void run(std::int64_t n, std::uint64_t seed, unsigned long long* hits, cudaStream_t stream) {
    const int block = 256;
    static const int grid = kit::resident_blocks(pi_curand_host_kernel, block);
    // region generate
    check_curand(curandSetStream(generator_, stream), "curandSetStream");
    check_curand(curandSetPseudoRandomGeneratorSeed(generator_, seed), "set seed");
    check_curand(curandSetGeneratorOffset(generator_, 0), "curandSetGeneratorOffset");
    CUDA_CHECK(cudaMemsetAsync(hits, 0, sizeof *hits, stream));
    for (std::int64_t done = 0; done < n; done += kBatch) {
      const std::int64_t points = std::min(kBatch, n - done);
      check_curand(curandGenerateUniform(generator_, xy_.data(), 2 * points),
                   "curandGenerateUniform");
      pi_curand_host_kernel<<<grid, block, 0, stream>>>(reinterpret_cast<float2*>(xy_.data()),
                                                        points, hits);
      CUDA_CHECK(cudaGetLastError());
    }
    // endregion
  }

 private:
  static constexpr std::int64_t kBatch = std::int64_t{1} << 24;  // points: 134 MB of floats
  kit::DeviceBuffer<float> xy_;
  curandGenerator_t generator_ = nullptr;
};
#endif

}  // namespace pi
