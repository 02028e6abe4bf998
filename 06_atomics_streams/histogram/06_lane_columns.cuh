// Rung 6, lane_columns: a set of counters for every lane, each in a memory bank of its own.
//
// Counter (bin, lane) is word 32 * bin + lane, so lane l only ever touches bank l: whatever the
// data, 32 lanes reach 32 banks and no request waits for another of its warp. That costs 32 KB
// instead of 1 KB, and so much clearing and handing in that one block of 1024 threads per SM is
// best. Threads are few then, so each asks for four pieces before it counts the first. What is
// still wrong: 16 requests for 16 equal bytes.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "06_atomics_streams/histogram/kit/lane_columns.cuh"
#include "06_atomics_streams/histogram/kit/lane_columns_kernel.cuh"

namespace histogram {

// counts[v] = how often v occurs in x[0 .. n), for all 256 values; n < 2^32. Device pointers, x
// with any alignment.
inline void histogram_lane_columns(const unsigned char* x, std::int64_t n, unsigned* counts,
                                   cudaStream_t stream) {
  launch_lane_columns<CountBytes>(x, n, counts, stream);
}

}  // namespace histogram
