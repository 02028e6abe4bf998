// What the rungs are held against: how fast the caches can be read.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>
#include <string>

#include "07_flash_attention/decode/problem.cuh"
#include "common/bench/compare.hpp"
#include "common/bench/variant.cuh"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"

namespace decode {

constexpr int kReadThreads = 512, kReadEach = 4;  // loads of a thread in flight at a time

// Combines all words of K and V, `count` chunks of 16 bytes each, by exclusive or into *result: the
// cheapest proof that they were read. A block reads a tile of kReadThreads x kReadEach chunks; the
// grid is [tiles, 2].
static __global__ void __launch_bounds__(kReadThreads)
    read_kernel(const uint4* k, const uint4* v, std::int64_t count, unsigned* result) {
  const uint4* from = blockIdx.y == 0 ? k : v;
  const std::int64_t first = std::int64_t{blockIdx.x} * kReadThreads * kReadEach + threadIdx.x;
  uint4 words[kReadEach];
#pragma unroll
  for (int j = 0; j < kReadEach; ++j) {
    const std::int64_t i = first + j * kReadThreads;
    words[j] = i < count ? __ldcs(&from[i]) : uint4{};
  }
  unsigned all = 0;
#pragma unroll
  for (int j = 0; j < kReadEach; ++j) all ^= words[j].x ^ words[j].y ^ words[j].z ^ words[j].w;

  // One atomic operation a block.
  __shared__ unsigned of_block;
  if (threadIdx.x == 0) of_block = 0;
  __syncthreads();
  for (int step = 16; step > 0; step /= 2) all ^= __shfl_xor_sync(0xffffffff, all, step);
  if (threadIdx.x % 32 == 0) atomicXor(&of_block, all);
  __syncthreads();
  if (threadIdx.x == 0) atomicXor(result, of_block);
}

// A yardstick: reads K and V, pages that nobody sees included, and leaves the exclusive or of all
// their words where the first elements of O belong.
template <class T>
bench::Variant<Decode<T>> device_read() {
  using P = Decode<T>;
  constexpr int kEach = sizeof(uint4) / sizeof(T);
  auto variant = bench::device_variant<P>(
      "device_read", "yardstick: reads the caches, and does nothing with them",
      [](P& p, cudaStream_t stream) {
        const Tensors<T> t = p.device_data();
        auto* result = reinterpret_cast<unsigned*>(t.o);
        CUDA_CHECK(cudaMemsetAsync(result, 0, sizeof(unsigned), stream));
        const std::int64_t count = p.k.size() / kEach;
        const dim3 grid(kit::divide_up(count, kReadThreads * kReadEach), 2);
        read_kernel<<<grid, kReadThreads, 0, stream>>>(reinterpret_cast<const uint4*>(t.k),
                                                       reinterpret_cast<const uint4*>(t.v), count,
                                                       result);
        CUDA_CHECK(cudaGetLastError());
      });
  variant.kind = bench::Kind::yardstick;
  variant.bytes = [](const P& p) { return 2.0 * sizeof(T) * static_cast<double>(p.k.size()); };
  variant.check = [](const P& p) {
    const auto words_of = [](const bench::GuardedArray<T>& array) {
      unsigned all = 0;
      for (std::int64_t i = 0; i < array.size(); i += 2) {
        unsigned word;
        std::memcpy(&word, array.pristine() + i, sizeof word);
        all ^= word;
      }
      return all;
    };
    const unsigned expected = words_of(p.k) ^ words_of(p.v);
    unsigned actual;
    std::memcpy(&actual, p.o.fetched(), sizeof actual);
    return bench::compare(&actual, &expected, 1, 0.0);
  };
  return variant;
}

}  // namespace decode
