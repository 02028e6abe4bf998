// pageable_streams: chunks take turns over four streams. It does not help.
//
// Work in different streams has no order, so it may overlap. But here the host memory is ordinary
// (pageable): the driver must first move each piece through a pinned buffer of its own, with the
// CPU, and cudaMemcpyAsync does not return until that is done. The copy out even waits for its
// kernel. So each call waits for its copy, and all of it takes longer than in `one_stream`. What is
// still wrong: the memory.
#pragma once

#include "06_atomics_streams/pipeline/kit/batch.cuh"

namespace pipeline {

inline void pipeline_pageable_streams(Batch& batch) {
  constexpr int kStreams = 4;
  for (int c = 0; c < batch.chunks(); ++c) {
    const cudaStream_t stream = batch.stream(c % kStreams);
    batch.copy_in(c, c, stream);
    batch.compute(c, c, stream);
    batch.copy_out(c, c, stream);
  }
}

}  // namespace pipeline
