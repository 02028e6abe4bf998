// Rung 7, runs: 16 equal bytes are counted with one request.
//
// Rung 6 no longer cares what the data is, which also means that it cannot profit from easy data.
// Five comparisons find out whether a piece is one byte repeated; then it takes one addition of 16
// instead of sixteen of 1. Random data never takes that branch and pays only for the test; a
// constant input, a cleared frame or a blank page takes it always. What is still wrong: runs
// shorter than a piece, or across its border, gain nothing.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "06_atomics_streams/histogram/kit/lane_columns_kernel.cuh"
#include "06_atomics_streams/histogram/kit/runs.cuh"

namespace histogram {

// counts[v] = how often v occurs in x[0 .. n), for all 256 values; n < 2^32. Device pointers, x
// with any alignment.
inline void histogram_runs(const unsigned char* x, std::int64_t n, unsigned* counts,
                           cudaStream_t stream) {
  launch_lane_columns<CountRuns>(x, n, counts, stream);
}

}  // namespace histogram
