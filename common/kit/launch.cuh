// SPDX-License-Identifier: MIT
// What comes before a launch: how many blocks, where its arrays begin, how much shared memory, and
// scratch memory that launches side by side do not share.
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "common/kit/check.cuh"

namespace kit {

// Parts of size `part` that cover `whole`.
__host__ __device__ constexpr int divide_up(std::int64_t whole, int part) {
  return static_cast<int>((whole + part - 1) / part);
}

// An attribute of the current device.
inline int device_attribute(cudaDeviceAttr attribute) {
  int device = 0, value = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&value, attribute, device));
  return value;
}

// The SMs of the device that was current at the first call.
inline int multiprocessor_count() {
  static const int kCount = device_attribute(cudaDevAttrMultiProcessorCount);
  return kCount;
}

// Blocks of `block` threads, with `shared` bytes of dynamic shared memory each, that the whole
// device holds at once.
template <class Kernel>
int resident_blocks(Kernel kernel, int block, int shared = 0) {
  int per_multiprocessor = 0;
  CUDA_CHECK(
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_multiprocessor, kernel, block, shared));
  return multiprocessor_count() * per_multiprocessor;
}

// Whether 16-byte accesses (float4, cp.async, TMA) may begin here.
inline bool is_aligned_to_16(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0;
}

// Whether they may begin at every row of a matrix whose rows have `cols` elements.
template <class T>
bool has_vector_rows(const T* x, std::int64_t cols) {
  return is_aligned_to_16(x) && cols * static_cast<std::int64_t>(sizeof(T)) % 16 == 0;
}

// For a rung that has no other way: throws Skip if one of the pointers is not aligned.
template <class... Pointers>
void require_aligned_to_16(const Pointers*... pointers) {
  if (!(is_aligned_to_16(pointers) && ...)) throw Skip("needs 16-byte aligned pointers");
}

// The most bytes of dynamic shared memory that a block of that device may have.
inline int most_shared() {
  static const int kMost = device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  return kMost;
}

// Lets a kernel have this many bytes of dynamic shared memory; above 48 KB it must be asked for.
// Throws Skip where there is not so much.
template <class Kernel>
void allow_shared(Kernel kernel, int bytes) {
  if (bytes > most_shared()) {
    throw Skip("needs " + std::to_string(bytes / 1024) + " KB of shared memory a block");
  }
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
}

// How many clusters of the launch `config` the device runs at once. They must fit into parts of the
// chip: 0 where none is large enough, as on a small share of a GPU (MIG).
template <class Kernel>
int clusters_at_once(Kernel kernel, const cudaLaunchConfig_t& config) {
  int most = 0;
  const cudaError_t error =
      cudaOccupancyMaxActiveClusters(&most, reinterpret_cast<const void*>(kernel), &config);
  if (error == cudaErrorInvalidClusterSize) {
    cudaGetLastError();  // it is no error of the launch that follows
    return 0;
  }
  CUDA_CHECK(error);
  return most;
}

// For a rung that has no other way: throws Skip if not even one cluster of `size` blocks fits.
inline void require_clusters(int at_once, int size) {
  if (at_once == 0) {
    throw Skip("needs room for clusters of " + std::to_string(size) + " blocks");
  }
}

// Tiles that TMA swizzles by 128 bytes begin at multiples of this many. nvcc has always placed an
// extern array as its declaration asks, and chapter 04 relies on that; a struct is placed below.
constexpr int kSwizzleAlignment = 1024;

// For dynamic shared memory that is one struct, so aligned: the bytes to ask for ...
template <class Shared>
constexpr int aligned_shared_bytes() {
  return static_cast<int>(sizeof(Shared)) + kSwizzleAlignment;
}

// ... and the struct, in the kernel. begin: of the dynamic shared memory.
template <class Shared>
__device__ __forceinline__ Shared& aligned_shared(unsigned char* begin) {
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  return *reinterpret_cast<Shared*>((address + kSwizzleAlignment - 1) &
                                    ~(kSwizzleAlignment - 1ull));
}

// Device memory of its own for each of several launches that may run side by side: a launch takes
// the next of kSlots slots.
//
// A slot is left as it was found, so nothing is cleared in between. A launch has one for itself as
// long as the one kSlots launches before it, in whichever stream, has ended. A graph keeps the slot
// of the launch it recorded: do not replay it beside direct launches, or twice at a time.
template <class Slot, std::size_t kSlots>
class WorkspaceRing {
  static_assert((kSlots & (kSlots - 1)) == 0, "the turns go on where the count of launches wraps");

 public:
  // `symbol`: a __device__ variable. The slots are those of the device that is current now; made at
  // the first launch and kept, they serve that one device.
  explicit WorkspaceRing(const Slot (&symbol)[kSlots]) {
    void* address = nullptr;
    CUDA_CHECK(cudaGetSymbolAddress(&address, symbol));
    first_ = static_cast<Slot*>(address);
  }

  // Device pointer; may be called by several threads.
  Slot* next() { return first_ + launches_++ % kSlots; }

 private:
  Slot* first_ = nullptr;
  std::atomic<unsigned> launches_{0};
};

}  // namespace kit
