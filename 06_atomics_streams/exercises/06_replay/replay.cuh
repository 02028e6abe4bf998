// Exercise 06/replay: a chain of small kernels, recorded once as a graph.
#pragma once

#include <cuda_runtime.h>

// Puts `kernels` launches into the stream, `times` times: step(k, stream) is launch number k. Each
// launch of the chain is called for once only; the graph does the rest.
template <class Step>
void run_chain(Step step, int kernels, int times, cudaStream_t stream) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  //@ task 1: record the chain in `graph`, and make it executable
  //@ hint: between cudaStreamBeginCapture and cudaStreamEndCapture a stream records and runs nothing
  //@ hint: cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal); the loop over k; then
  //@ hint: cudaStreamEndCapture(stream, &graph); cudaGraphInstantiateWithFlags(&executable, graph, 0)
  //@ begin
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
  for (int k = 0; k < kernels; ++k) step(k, stream);
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiateWithFlags(&executable, graph, 0);
  //@ end
  //@ task 2: run it `times` times
  //@ hint: what was recorded has not run yet, not even once
  //@ hint: one call a replay, all into the same stream, which keeps them in order
  //@ hint: cudaGraphLaunch(executable, stream)
  //@ begin
  for (int i = 0; i < times; ++i) cudaGraphLaunch(executable, stream);
  //@ end
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
}
