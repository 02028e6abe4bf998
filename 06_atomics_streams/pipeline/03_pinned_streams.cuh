// pinned_streams: the same calls on pinned memory. Now they overlap.
//
// Memory from cudaMallocHost stays where it is, so the copy engine reads and writes it unattended
// and every call returns at once. All queues are full before the first copy has ended, and the GPU
// finds something for each engine to do: the time falls from the sum of the stages to about that of
// the longest. What is still wrong: it needs device memory for the whole batch.
#pragma once

#include "06_atomics_streams/pipeline/kit/batch.cuh"

namespace pipeline {

// Chunk c goes through stream c % streams.
inline void pipeline_in_streams(Batch& batch, int streams) {
  for (int c = 0; c < batch.chunks(); ++c) {
    const cudaStream_t stream = batch.stream(c % streams);
    batch.copy_in(c, c, stream);
    batch.compute(c, c, stream);
    batch.copy_out(c, c, stream);
  }
}

// The caller has pointed the batch at pinned memory (Batch::use_host).
inline void pipeline_pinned_streams(Batch& batch) { pipeline_in_streams(batch, 4); }

}  // namespace pipeline
