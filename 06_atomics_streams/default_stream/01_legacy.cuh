// Rung 1, legacy: the default stream as it has always been.
//
// A launch without a stream goes into the legacy default stream. It waits for all work that was put
// into any other stream of the process before it, and all later work waits for it. So eight
// independent kernels with a tiny launch after each run one after the other, although the GPU has
// room for hundreds of them. What is still wrong: a third party that nobody thinks of, a library or
// a cudaMemset without stream, serialises everything.
#pragma once

#include <cuda_runtime.h>

#include <string>

#include "06_atomics_streams/default_stream/problem.cuh"
#include "common/cuda_check.cuh"

// Eight long kernels, each followed by a tiny one in `default_stream`. `caller` is where the time
// is taken; trace may be null.
inline void launch_eight(EightStreams& streams, cudaStream_t default_stream, unsigned* y,
                         int rounds, cudaStream_t caller, Trace* trace) {
  streams.fork(caller, default_stream);
  for (int s = 0; s < kEightStreams; ++s) {
    if (trace != nullptr) trace->begin("stream " + std::to_string(s), s, streams[s]);
    default_stream_spin_kernel<<<1, kWidth, 0, streams[s]>>>(y, s * kWidth, rounds);
    if (trace != nullptr) trace->end(streams[s]);
    default_stream_spin_kernel<<<1, 1, 0, default_stream>>>(y, kEightStreams * kWidth + s, 1);
  }
  CUDA_CHECK(cudaGetLastError());
  streams.join(caller, default_stream);
}

// cudaStreamLegacy is what <<<1, 1>>> means, unless the program is compiled with
// --default-stream per-thread.
inline void default_stream_legacy(EightStreams& blocking, unsigned* y, int rounds,
                                  cudaStream_t caller, Trace* trace) {
  launch_eight(blocking, cudaStreamLegacy, y, rounds, caller, trace);
}
