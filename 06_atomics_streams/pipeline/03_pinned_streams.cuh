// Rung 3, pinned_streams: the same calls on pinned memory. Now they overlap.
//
// Memory from cudaMallocHost stays where it is, so the copy engine reads and writes it unattended
// and every call returns at once. All queues are full before the first copy has ended, and the GPU
// finds something for each engine to do: the time falls from the sum of the stages to little more
// than the longest. What is still wrong: it needs device memory for the whole batch.
#pragma once

#include "06_atomics_streams/pipeline/kit/batch.cuh"
#include "06_atomics_streams/pipeline/kit/streams.cuh"

namespace pipeline {

// The caller has pointed the batch at pinned memory (Batch::use_host).
inline void pipeline_pinned_streams(Batch& batch) { pipeline_streams(batch, kStreams); }

}  // namespace pipeline
