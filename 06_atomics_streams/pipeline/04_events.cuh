// events: one stream per stage instead of per group of chunks, tied together by events.
//
// Three queues, one for each engine, and a ring of a few slots in device memory, however long the
// batch is. An event marks a place in one stream; another stream can be told to wait for it,
// without the host waiting too. Going forward: compute waits for "arrived", copy-out for
// "computed". Going back: nobody may overwrite a slot before the stage behind has read it. What is
// left: the first copy in and the last copy out have nothing to overlap with.
#pragma once

#include "06_atomics_streams/pipeline/kit/batch.cuh"
#include "common/kit/check.cuh"

namespace pipeline {

constexpr int kSlots = 4;

inline void pipeline_events(Batch& batch) {
  const cudaStream_t in = batch.stream(0), middle = batch.stream(1), out = batch.stream(2);
  for (int c = 0; c < batch.chunks(); ++c) {
    const int slot = c % kSlots;
    const int before = c - kSlots;  // the chunk that had this slot
    if (before >= 0) CUDA_CHECK(cudaStreamWaitEvent(in, batch.computed(before)));
    batch.copy_in(c, slot, in);
    CUDA_CHECK(cudaEventRecord(batch.arrived(c), in));

    CUDA_CHECK(cudaStreamWaitEvent(middle, batch.arrived(c)));
    if (before >= 0) CUDA_CHECK(cudaStreamWaitEvent(middle, batch.left(before)));
    batch.compute(c, slot, middle);
    CUDA_CHECK(cudaEventRecord(batch.computed(c), middle));

    CUDA_CHECK(cudaStreamWaitEvent(out, batch.computed(c)));
    batch.copy_out(c, slot, out);
    CUDA_CHECK(cudaEventRecord(batch.left(c), out));
  }
}

}  // namespace pipeline
