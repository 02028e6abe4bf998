// Chunks that take turns over several streams.
#pragma once

#include <cuda_runtime.h>

#include "06_atomics_streams/pipeline/kit/batch.cuh"

namespace pipeline {

constexpr int kStreams = 4;

// Chunk c goes through stream c % streams.
inline void pipeline_streams(Batch& batch, int streams) {
  for (int c = 0; c < batch.chunks(); ++c) {
    const cudaStream_t stream = batch.stream(c % streams);
    batch.copy_in(c, c, stream);
    batch.compute(c, c, stream);
    batch.copy_out(c, c, stream);
  }
}

}  // namespace pipeline
