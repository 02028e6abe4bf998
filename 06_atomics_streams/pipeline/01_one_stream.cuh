// one_stream: chunk by chunk, everything in one stream.
//
// A stream is a queue: what is put into it happens in that order, one after the other. So while a
// chunk is copied the SMs are idle, and while they compute both copy engines are. The time is the
// sum of the three stages. What is still wrong: nothing in the problem asks for that order; chunk 1
// could travel while chunk 0 is being computed.
#pragma once

#include "06_atomics_streams/pipeline/kit/batch.cuh"

namespace pipeline {

inline void pipeline_one_stream(Batch& batch) {
  for (int c = 0; c < batch.chunks(); ++c) {
    batch.copy_in(c, c, batch.stream(0));
    batch.compute(c, c, batch.stream(0));
    batch.copy_out(c, c, batch.stream(0));
  }
}

}  // namespace pipeline
