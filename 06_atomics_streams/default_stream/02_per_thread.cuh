// per_thread: a default stream that is a stream like any other.
//
// Each host thread has its own, and other streams do not wait for it. Compile with
// --default-stream per-thread and every launch without a stream goes there, or name it:
// cudaStreamPerThread. The eight kernels overlap. What is still wrong: it is all or nothing. Code
// that silently relied on the old waiting now has a race. And it is a blocking stream: it and the
// legacy one still wait for each other, so libraries must be compiled alike.
#pragma once

#include <cuda_runtime.h>

#include "06_atomics_streams/default_stream/kit/eight_streams.cuh"
#include "06_atomics_streams/kit/observer.hpp"

namespace default_stream {

inline void default_stream_per_thread(EightStreams& blocking, unsigned* y, int rounds,
                                      cudaStream_t caller, atomics_streams::Observer* observer) {
  launch_eight(blocking, cudaStreamPerThread, y, rounds, caller, observer);
}

}  // namespace default_stream
