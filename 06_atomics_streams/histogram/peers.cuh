// Rows to compare with: CUB's histogram, and reading the bytes without counting them.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "06_atomics_streams/histogram/kit/bins.hpp"
#include "06_atomics_streams/histogram/kit/grid.cuh"
#include "06_atomics_streams/histogram/kit/lane_columns.cuh"
#include "06_atomics_streams/histogram/kit/pieces.cuh"
#include "06_atomics_streams/histogram/problem.cuh"
#include "06_atomics_streams/kit/warp_sum.cuh"
#include "common/bench/variant.cuh"
#include "common/kit/check.cuh"
#include "common/kit/workspace.cuh"

#if __has_include(<cub/device/device_histogram.cuh>)
#include <cub/device/device_histogram.cuh>
#endif

namespace histogram {

// The peer: cub::DeviceHistogram over 256 bins of width 1.
inline bench::Variant<Histogram> histogram_peer() {
#if __has_include(<cub/device/device_histogram.cuh>)
  return bench::peer<Histogram>("cub_histogram", "cub::DeviceHistogram",
                                [scratch = kit::LibraryCall()](Histogram& p, cudaStream_t stream) {
                                  scratch(p.n, [&](void* memory, std::size_t& bytes) {
                                    CUDA_CHECK(cub::DeviceHistogram::HistogramEven(
                                        memory, bytes, p.x.device_data(), p.counts.device_data(),
                                        kBins + 1, 0, kBins, p.n, stream));
                                  });
                                });
#else
  return bench::missing_peer<Histogram>("cub_histogram", "cub::DeviceHistogram",
                                        "needs CUB, which comes with the CUDA Toolkit");
#endif
}

constexpr int kReadBlock = 256;

// Reads as fast as it can and counts nothing: no shared memory, so an SM is full of threads. The
// words are combined, so that no load can be left out and the check sees that all were made.
__global__ void __launch_bounds__(kReadBlock)
    histogram_read_only_kernel(const unsigned char* x, std::int64_t n, unsigned* counts) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kReadBlock;
  std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kReadBlock + threadIdx.x;
  const Pieces pieces = split_in_pieces(x, n);
  unsigned mixed = 0;
  const auto mix = [&mixed](uint4 v) { mixed ^= v.x ^ v.y ^ v.z ^ v.w; };
  for (; i + (kInFlight - 1) * stride < pieces.count; i += kInFlight * stride) {
    uint4 piece[kInFlight];
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) piece[k] = __ldcs(pieces.first + i + k * stride);
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) mix(piece[k]);
  }
  for (; i < pieces.count; i += stride) mix(pieces.first[i]);
  for (int step = 16; step > 0; step /= 2)
    mixed ^= __shfl_down_sync(atomics_streams::kAllLanes, mixed, step);
  if (threadIdx.x % 32 == 0) atomicXor(&counts[0], mixed);
}

// Yardstick: the time it takes to read n bytes in pieces of 16.
inline bench::Variant<Histogram> histogram_read_only() {
  auto read = bench::device_variant<Histogram>(
      "read_only", "yardstick: reads the bytes, counts nothing",
      [](Histogram& p, cudaStream_t stream) {
        const int grid = histogram_grid(histogram_read_only_kernel, kReadBlock, (p.n + 15) / 16);
        CUDA_CHECK(cudaMemsetAsync(p.counts.device_data(), 0, kBins * sizeof(unsigned), stream));
        histogram_read_only_kernel<<<grid, kReadBlock, 0, stream>>>(p.x.device_data(), p.n,
                                                                    p.counts.device_data());
        CUDA_CHECK(cudaGetLastError());
      });
  read.kind = bench::Kind::yardstick;
  // The same exclusive-or of all whole pieces, from the host.
  read.check = [](const Histogram& p) {
    unsigned char bytes[4] = {};
    for (std::int64_t i = 0; i < p.n / 16 * 16; ++i) bytes[i % 4] ^= p.x.pristine()[i];
    unsigned expected[kBins] = {};
    std::memcpy(expected, bytes, sizeof bytes);
    return bench::compare(p.counts.fetched(), expected, kBins, 0.0);
  };
  return read;
}

}  // namespace histogram
