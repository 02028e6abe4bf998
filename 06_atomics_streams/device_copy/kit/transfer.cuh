// One copy from device to device, as every rung gets it: which bytes, and in whose streams.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "common/kit/check.cuh"
#include "common/kit/devices.cuh"

namespace device_copy {

using Byte = unsigned char;

// On a CPU fewer threads and blocks show the same.
constexpr int kThreads = kit::kHasGpu ? 512 : 64;
constexpr int kBlocks = kit::kHasGpu ? 32 : 4;

// Places for a chunk in the host's memory.
constexpr int kSlots = 4;
constexpr std::int64_t kChunkBytes = kit::kHasGpu ? 4 << 20 : 1 << 10;

// A rung works in the source's stream, in the target's, or in both. Neither has anything else to do
// when the rung is called, and who waits for both of them has waited for the rung. Calls of one
// rung may follow one another without a wait between.
struct Transfer {
  const Byte* from = nullptr;  // in the memory of device `source`
  Byte* to = nullptr;          // in the memory of device `target`; kernels of both may use both
  std::int64_t bytes = 0;
  int source = 0, target = 1;
  kit::Devices devices;           // streams for this transfer alone
  Byte* staging = nullptr;        // page-locked host memory: `bytes`, and room for the slots
  cudaEvent_t left[kSlots] = {};  // the target's: this slot's chunk has left the host

  cudaStream_t at_source() const { return devices.streams[source]; }
  cudaStream_t at_target() const { return devices.streams[target]; }
};

// Calls f() with `device` as the current one; then device 0 is again.
template <class Function>
void on_device(int device, Function f) {
  CUDA_CHECK(cudaSetDevice(device));
  f();
  CUDA_CHECK(cudaSetDevice(0));
}

// Blocks for so many items, one for each thread and turn, but no more than `most`.
inline int blocks_for(std::int64_t items, int most) {
  return static_cast<int>(std::clamp<std::int64_t>((items + kThreads - 1) / kThreads, 1, most));
}

}  // namespace device_copy
