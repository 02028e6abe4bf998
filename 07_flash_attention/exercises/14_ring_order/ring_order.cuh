// Exercise 07/ring_order: keys and values go round a ring while those before are computed with.
#pragma once

#include <cuda_runtime.h>

// ring.send(rank, step, stream): the copy of what the rank has at hand in that step, to the inbox
// of the next rank. ring.compute(rank, step, owner, stream): the kernel that computes with it;
// `owner` is the rank to which it belongs. sent[rank][step], computed[rank][step]: an event for
// each of them, to be recorded when it is done. The last step sends nothing.
template <class Ring>
void go_round(Ring& ring, int ranks, const cudaStream_t* computes, const cudaStream_t* copies,
              cudaEvent_t* const* sent, cudaEvent_t* const* computed) {
  for (int step = 0; step < ranks; ++step) {
    for (int rank = 0; rank < ranks; ++rank) {
      const int before = (rank + ranks - 1) % ranks, next = (rank + 1) % ranks;
      if (step + 1 < ranks) {
        //@ task 1: what must be done before this copy may begin? Of step 0 nothing is to be awaited.
        //@ hint: what it reads has come, and what it overwrites is not wanted any more
        //@ hint: the next rank used that slot in the step before: its kernel, and its copy, read it
        //@ hint: if (step > 0), wait for [step - 1] of: sent[before], computed[next], sent[next]
        //@ begin
        if (step > 0) {
          cudaStreamWaitEvent(copies[rank], sent[before][step - 1], 0);
          cudaStreamWaitEvent(copies[rank], computed[next][step - 1], 0);
          cudaStreamWaitEvent(copies[rank], sent[next][step - 1], 0);
        }
        //@ end
        ring.send(rank, step, copies[rank]);
        cudaEventRecord(sent[rank][step], copies[rank]);
      }

      //@ task 2: what must be done before this kernel may begin?
      //@ hint: only one thing, and in step 0 not even that
      //@ hint: what it computes with has come, from the rank before it, in the step before
      //@ hint: if (step > 0), computes[rank] waits for sent[before][step - 1]
      //@ begin
      if (step > 0) cudaStreamWaitEvent(computes[rank], sent[before][step - 1], 0);
      //@ end

      int owner = 0;
      //@ task 3: owner = whose keys and values are at hand?
      //@ hint: in step 0 its own, in step 1 those of the rank before
      //@ hint: as many ranks before it as there were steps, and the ring closes at rank 0
      //@ hint: the remainder of a negative number is negative: add `ranks` first
      //@ begin
      owner = (rank - step + ranks) % ranks;
      //@ end
      ring.compute(rank, step, owner, computes[rank]);
      cudaEventRecord(computed[rank][step], computes[rank]);
    }
  }
}
