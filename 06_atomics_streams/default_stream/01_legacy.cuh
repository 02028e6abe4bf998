// legacy: the default stream as it has always been.
//
// A launch without a stream goes into the legacy default stream. It waits for all work that was put
// before it into any other stream of this device, unless that is non-blocking, and all later work
// there waits for it. So eight independent kernels with a tiny launch after each run one after the
// other, although the GPU has room for hundreds of them. What is still wrong: a third party that
// nobody thinks of, a library or a cudaMemset without stream, serialises everything.
#pragma once

#include <cuda_runtime.h>

#include "06_atomics_streams/default_stream/kit/eight_streams.cuh"
#include "06_atomics_streams/kit/observer.hpp"

namespace default_stream {

// cudaStreamLegacy is what <<<1, 1>>> means, unless the program is compiled with
// --default-stream per-thread.
inline void default_stream_legacy(EightStreams& blocking, unsigned* y, int rounds,
                                  cudaStream_t caller, atomics_streams::Observer* observer) {
  launch_eight(blocking, cudaStreamLegacy, y, rounds, caller, observer);
}

}  // namespace default_stream
