// non_blocking: the legacy default stream stays, and these eight streams ignore it.
//
// cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) makes a stream that neither waits for
// the legacy default stream nor is waited for. It is the choice of a library: it depends on no
// compiler flag of its caller. What is left to do: whatever truly depends on the default stream now
// has to say so, with an event.
#pragma once

#include <cuda_runtime.h>

#include "06_atomics_streams/default_stream/kit/eight_streams.cuh"
#include "06_atomics_streams/kit/observer.hpp"

namespace default_stream {

inline void default_stream_non_blocking(EightStreams& non_blocking, unsigned* y, int rounds,
                                        cudaStream_t caller, atomics_streams::Observer* observer) {
  launch_eight(non_blocking, cudaStreamLegacy, y, rounds, caller, observer);
}

}  // namespace default_stream
