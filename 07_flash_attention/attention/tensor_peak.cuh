// The most bf16 operations a second of a device's tensor cores.
#pragma once

#include "common/device_facts.cuh"

// Operations per clock of one multiprocessor, without sparsity, fp32 accumulation (NVIDIA's
// architecture whitepapers; a multiply-add counts two). 0 for a chip newer than this table.
inline int bf16_tensor_operations(int compute_capability) {
  switch (compute_capability) {
    case 80: return 2048;
    case 86: return 512;
    case 89: return 512;
    case 90: return 4096;
    case 100:
    case 103: return 8192;
    case 120:
    case 121: return 512;
    default: return 0;
  }
}

// In 1e9 operations a second at boost clock; 0 if unknown.
inline double bf16_tensor_gflops(const common::DeviceFacts& device) {
  return device.clock_ghz * bf16_tensor_operations(device.compute_capability()) *
         device.multiprocessors;
}
