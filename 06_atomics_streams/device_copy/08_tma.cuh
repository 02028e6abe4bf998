// tma: one thread of each block has TMA copy, in and out again.
//
// TMA brings a piece of the own memory into a slot of shared memory, and sends it on into the
// target's memory: cp.async.bulk both ways. One thread asks, and no byte passes through a register.
// Half of the slots are being filled while the other half is being sent. What is still wrong: TMA
// takes multiples of 16 bytes at addresses that are multiples of 16, and what is in flight takes
// shared memory that a kernel might need for its own work.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "06_atomics_streams/device_copy/kit/transfer.cuh"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/ptx/tma.cuh"

namespace device_copy {

constexpr int kPieceBytes = kit::kHasGpu ? 16 << 10 : 256;
constexpr int kPieces = 12;             // that a block has in shared memory: 192 KB,
constexpr int kOnTheWay = kPieces / 2;  // of which so many may still be on their way out
constexpr int kTmaBytes = kPieces * kPieceBytes;
constexpr int kWarp = 32;

// to = from, of which both are multiples of 16.
__global__ void __launch_bounds__(kWarp)
    tma_kernel(const Byte* from, Byte* to, std::int64_t bytes) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  extern __shared__ __align__(128) Byte slots[];
  __shared__ std::uint64_t full[kPieces];
  const std::int64_t whole = bytes / 16 * 16;
  const std::int64_t rest = whole + threadIdx.x;
  if (blockIdx.x == 0 && rest < bytes) to[rest] = from[rest];
  if (threadIdx.x != 0) return;
  for (std::uint64_t& barrier : full) ptx::mbarrier_init(&barrier, 1);
  ptx::fence_mbarrier_init();

  // Piece k of this block: where it begins, how long it is, and how it comes into its slot.
  const auto begin = [&](std::int64_t k) { return (blockIdx.x + k * gridDim.x) * kPieceBytes; };
  const auto length = [&](std::int64_t k) {
    return static_cast<std::uint32_t>(min(std::int64_t{kPieceBytes}, whole - begin(k)));
  };
  const auto fetch = [&](std::int64_t k) {
    if (begin(k) >= whole) return;
    const int slot = static_cast<int>(k % kPieces);
    ptx::mbarrier_arrive_expect_tx(&full[slot], length(k));
    ptx::cp_async_bulk(slots + slot * kPieceBytes, from + begin(k), length(k), &full[slot]);
  };

  for (std::int64_t k = 0; k < kPieces - kOnTheWay; ++k) fetch(k);
  for (std::int64_t k = 0; begin(k) < whole; ++k) {
    const int slot = static_cast<int>(k % kPieces);
    while (!ptx::mbarrier_try_wait_parity(&full[slot], k / kPieces % 2)) {
    }
    ptx::cp_async_bulk_store(to + begin(k), slots + slot * kPieceBytes, length(k));
    ptx::bulk_commit_group();
    // All but the youngest kOnTheWay have been read: the slot of the one before them is free.
    ptx::bulk_wait_group_read<kOnTheWay>();
    fetch(k + kPieces - kOnTheWay);
  }
  ptx::bulk_wait_group<0>();  // shared memory ends with the block
#else
  (void)from, (void)to, (void)bytes;
#endif
}

// By SMs of `device`, the source or the target, in its stream. Throws Skip if a pointer is no
// multiple of 16: TMA takes no other.
inline void device_copy_tma_by(const Transfer& t, int device, int most_blocks) {
  kit::require_aligned_to_16(t.from, t.to);
  const std::int64_t pieces = (t.bytes + kPieceBytes - 1) / kPieceBytes;
  const int blocks = static_cast<int>(std::clamp<std::int64_t>(pieces, 1, most_blocks));
  on_device(device, [&] {
    kit::allow_shared(tma_kernel, kTmaBytes);
    tma_kernel<<<blocks, kWarp, kTmaBytes, t.devices.streams[device]>>>(t.from, t.to, t.bytes);
    CUDA_CHECK(cudaGetLastError());
  });
}

inline void device_copy_tma(const Transfer& t) { device_copy_tma_by(t, t.source, kBlocks); }

}  // namespace device_copy
