// The model GPU: compute capability 8.0, the size of an A100. Only what CUDA programs can ask for;
// time and caches are not modelled.
#pragma once

#include <cstddef>

#include "simt/kernel.h"

namespace simt {

constexpr int kMultiprocessors = 108;
constexpr unsigned kMaxGridX = 0x7fffffff;
constexpr unsigned kMaxGridYZ = 65535;
constexpr unsigned kMaxBlockZ = 64;
constexpr int kThreadsPerMultiprocessor = 2048;
constexpr int kBlocksPerMultiprocessor = 32;
constexpr int kRegistersPerMultiprocessor = 65536;
constexpr int kRegisterUnit = 256;  // registers are given to warps in units of this many
// g++ does not allocate GPU registers, so every kernel counts as if it used this many per thread.
constexpr int kAssumedRegisters = 32;
constexpr size_t kSharedPerBlock = 48 * 1024;
constexpr size_t kSharedPerMultiprocessor = 164 * 1024;
constexpr size_t kSharedPerBlockOptIn = 163 * 1024;
constexpr size_t kSharedReserved = 1024;  // per block, for the system
constexpr size_t kSharedUnit = 128;  // shared memory is given to blocks in units of this many bytes
constexpr size_t kConstantBytes = 64 * 1024;
constexpr size_t kL2Bytes = 40 << 20;

// How many blocks of this shape one multiprocessor can hold (occupancy.cpp).
int resident_blocks(const Kernel& kernel, int threads, size_t dynamic_shared);

}  // namespace simt
