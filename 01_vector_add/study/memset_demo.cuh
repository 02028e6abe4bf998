// --demo memset: cudaMemset sets bytes, not elements.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>

#include "common/kit/check.cuh"
#include "common/kit/device_buffer.cuh"

namespace vector_add {

// What an int holds after cudaMemset(p, byte, sizeof(int)): the byte, four times over.
inline std::int32_t int_after_memset(int byte) {
  const kit::DeviceBuffer<std::int32_t> d_value(1);
  CUDA_CHECK(cudaMemset(d_value.data(), byte, d_value.bytes()));
  std::int32_t value = 0;
  CUDA_CHECK(cudaMemcpy(&value, d_value.data(), sizeof value, cudaMemcpyDeviceToHost));
  return value;
}

inline void memset_demo() {
  std::printf("%-28s %12s %12s\n", "call", "int", "in hex");
  for (const int byte : {0x00, 0x12, 0xFF}) {
    const std::int32_t value = int_after_memset(byte);
    std::printf("cudaMemset(p, 0x%02X, 4)       %12d   0x%08X\n", byte, value,
                static_cast<unsigned>(value));
  }
}

}  // namespace vector_add
