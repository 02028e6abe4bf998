// Exercise 06/overlap: a pipeline in which each chunk needs something of the chunk before.
#pragma once

#include <cuda_runtime.h>

constexpr int kSlots = 4;  // places for a chunk in device memory, and streams

// Chunk c lives in slot c % kSlots from its copy in to its copy out. batch.carry adds up: it reads
// the running total that the carry of chunk c - 1 has left, and leaves its own in the same place.
template <class Batch>
void pipeline(Batch& batch, int chunks, const cudaStream_t* streams) {
  //@ task 1: the same stages, as much of them at the same time as can be
  //@ hint: chunks in different slots have nothing in common but the running total
  //@ hint: give each slot a stream: then a slot's next chunk comes after the last one by itself
  //@ hint: one event: record it behind each carry; before the next carry, its stream waits for it
  //@ instead: for (int c = 0; c < chunks; ++c) {
  //@ instead:   const int slot = c % kSlots;
  //@ instead:   batch.copy_in(c, slot, streams[0]);
  //@ instead:   batch.scale(c, slot, streams[0]);
  //@ instead:   batch.carry(c, slot, streams[0]);
  //@ instead:   batch.copy_out(c, slot, streams[0]);
  //@ instead: }
  //@ begin
  cudaEvent_t carried = nullptr;
  cudaEventCreateWithFlags(&carried, cudaEventDisableTiming);
  for (int c = 0; c < chunks; ++c) {
    const int slot = c % kSlots;
    const cudaStream_t stream = streams[slot];
    batch.copy_in(c, slot, stream);
    batch.scale(c, slot, stream);
    if (c > 0) cudaStreamWaitEvent(stream, carried, 0);  // that of chunk c - 1
    batch.carry(c, slot, stream);
    cudaEventRecord(carried, stream);
    batch.copy_out(c, slot, stream);
  }
  cudaEventDestroy(carried);
  //@ end
}
