// Loads from shared memory that stay where they are written. The compiler may move a plain load
// down to where its values are first used, and then they are waited for.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/sgemm/kit/edges.cuh"

namespace matmul::sgemm {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
// Four neighbours, from an address within shared memory that is aligned to 16 bytes.
__device__ inline void load_four_pinned_at(float* to, std::uint32_t from) {
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3])
               : "r"(from)
               : "memory");
}
#endif

// From a pointer. Chips older than Hopper get the plain load.
__device__ inline void load_four_pinned(float* to, const float* from) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  load_four_pinned_at(to, static_cast<std::uint32_t>(__cvta_generic_to_shared(from)));
#else
  load_four(to, from);
#endif
}

}  // namespace matmul::sgemm
