// push: a kernel of the source stores into the target's memory.
//
// It is the kernel of `pull`, run on the other device. Now the loads are of the device's own
// memory, and what takes the link is stores: a store goes its way, and no thread waits for it. A
// few SMs fill the link. What is still wrong: all bytes go through registers, in pieces of 16, and
// each piece takes two instructions.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "06_atomics_streams/device_copy/kit/transfer.cuh"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"

namespace device_copy {

// to = from, word by word. Word: 16 bytes if both pointers are multiples of 16, or else 1.
template <class Word>
__global__ void __launch_bounds__(kThreads)
    push_kernel(const Byte* __restrict__ from, Byte* __restrict__ to, std::int64_t bytes) {
  const std::int64_t grid = std::int64_t{gridDim.x} * kThreads;
  const std::int64_t mine = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const std::int64_t words = bytes / sizeof(Word);
  const auto* const in = reinterpret_cast<const Word*>(from);
  auto* const out = reinterpret_cast<Word*>(to);
#pragma unroll 4  // fewer tests of the end, and nvcc moves loads ahead of stores
  for (std::int64_t w = mine; w < words; w += grid) out[w] = in[w];

  const std::int64_t rest = words * sizeof(Word) + mine;
  if (rest < bytes) to[rest] = from[rest];
}

// In the stream of the source.
inline void device_copy_push(const Transfer& t, int most_blocks = kBlocks) {
  const bool wide = kit::is_aligned_to_16(t.from) && kit::is_aligned_to_16(t.to);
  const auto kernel = wide ? push_kernel<uint4> : push_kernel<Byte>;
  const int blocks = blocks_for(t.bytes / (wide ? 16 : 1), most_blocks);
  on_device(t.source, [&] {
    kernel<<<blocks, kThreads, 0, t.at_source()>>>(t.from, t.to, t.bytes);
    CUDA_CHECK(cudaGetLastError());
  });
}

}  // namespace device_copy
