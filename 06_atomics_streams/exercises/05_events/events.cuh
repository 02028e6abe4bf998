// Exercise 06/events: three streams that wait for each other, and nobody else does.
#pragma once

#include <cuda_runtime.h>

constexpr int kSlots = 3;  // places for a chunk in device memory

// batch.copy_in(c, slot, stream) and so on put a stage of chunk c into a stream. On the device the
// chunk lives in one of kSlots slots, which later chunks use again. arrived, computed, left: an
// event for each chunk, to be recorded when that stage of it is done.
template <class Batch>
void pipeline(Batch& batch, int chunks, cudaStream_t in, cudaStream_t middle, cudaStream_t out,
              cudaEvent_t* arrived, cudaEvent_t* computed, cudaEvent_t* left) {
  for (int c = 0; c < chunks; ++c) {
    const int slot = c % kSlots;
    const int before = c - kSlots;  // the chunk that had this slot; negative: nobody
    //@ task 1: what must be done before the input of chunk c may be overwritten?
    //@ hint: the kernel of chunk `before` reads what lies in the slot
    //@ hint: cudaStreamWaitEvent(stream, event, 0): what comes next in the stream waits
    //@ hint: if (before >= 0), `in` waits for computed[before]
    //@ begin
    if (before >= 0) cudaStreamWaitEvent(in, computed[before], 0);
    //@ end
    batch.copy_in(c, slot, in);
    cudaEventRecord(arrived[c], in);

    //@ task 2: what must be done before the kernel of chunk c may read, and write its result?
    //@ hint: two things: its input is there, and the slot's result is not wanted any more
    //@ hint: the result of chunk `before` is wanted until it has been copied out
    //@ hint: `middle` waits for arrived[c], and if (before >= 0) for left[before]
    //@ begin
    cudaStreamWaitEvent(middle, arrived[c], 0);
    if (before >= 0) cudaStreamWaitEvent(middle, left[before], 0);
    //@ end
    batch.compute(c, slot, middle);
    cudaEventRecord(computed[c], middle);

    //@ task 3: what must be done before the result of chunk c may be copied out?
    //@ hint: only one thing, and it happens in another stream
    //@ hint: its kernel
    //@ hint: `out` waits for computed[c]
    //@ begin
    cudaStreamWaitEvent(out, computed[c], 0);
    //@ end
    batch.copy_out(c, slot, out);
    cudaEventRecord(left[c], out);
  }
}
