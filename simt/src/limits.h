// The model GPU. Only what CUDA programs can ask for; time and caches are not modelled.
#pragma once

#include <cstddef>

#include "simt/kernel.h"

namespace simt {

constexpr unsigned kMaxGridX = 0x7fffffff;
constexpr unsigned kMaxGridYZ = 65535;
constexpr unsigned kMaxBlockZ = 64;
constexpr int kRegistersPerMultiprocessor = 65536;
constexpr int kRegisterUnit = 256;  // registers are given to warps in units of this many
// g++ does not allocate GPU registers, so every kernel counts as if it used this many per thread.
constexpr int kAssumedRegisters = 32;
constexpr size_t kSharedPerBlock = 48 * 1024;
constexpr size_t kSharedUnit = 128;  // shared memory is given to blocks in units of this many bytes
constexpr size_t kConstantBytes = 64 * 1024;

// What differs between the architectures that a program can be built for (SIMT_ARCH).
struct Chip {
  int architecture;  // 10 * major + minor
  int multiprocessors;
  int threads_per_multiprocessor;
  int blocks_per_multiprocessor;
  size_t shared_per_multiprocessor;
  size_t shared_per_block;  // at most, once a kernel has asked for it
  size_t shared_reserved;   // per block, for the system
  size_t l2_bytes;
  unsigned cluster_blocks;  // that every kernel may have; kMaxClusterBlocks if it allows more
};
// The one that this program was built for (unit.cpp).
const Chip& chip();

// How many blocks of this shape one multiprocessor can hold (api_kernel.cpp).
int resident_blocks(const Kernel& kernel, int threads, size_t dynamic_shared);

}  // namespace simt
