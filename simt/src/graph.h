// Graphs: tasks and the order between them, recorded once and launched many times. A stream that is
// captured records its operations here instead of running them.
#pragma once

#include <memory>
#include <vector>

#include "device.h"

struct CUgraphNode_st {
  CUgraph_st* graph = nullptr;
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  simt::Task task;
  CUgraph_st* child = nullptr;  // cudaGraphNodeTypeGraph
  bool enabled = true;          // of an executable graph; if not, the node does nothing
  std::vector<CUgraphNode_st*> before;
};

struct CUgraph_st {
  std::vector<std::unique_ptr<CUgraphNode_st>> nodes;  // in the order of creation: a valid order
  std::vector<std::unique_ptr<CUgraph_st>> children;   // clones, owned by this graph
  bool owned_by_capture = false;
  cudaStreamCaptureMode capture_mode = cudaStreamCaptureModeGlobal;  // while it is captured
};

struct CUgraphExec_st {
  std::unique_ptr<CUgraph_st> graph;       // the executable's own copy
  std::vector<CUgraphNode_st*> originals;  // the nodes it was made from, in the same order
};

namespace simt {

// Puts the task into the stream, or records it if the stream is being captured.
cudaError_t submit(CUstream_st* stream, Task task, OperationPtr* operation = nullptr);

// An error for calls that would wait for a stream while it is being captured; cudaSuccess: go on.
cudaError_t check_no_capture(CUstream_st* stream);
cudaError_t check_no_capture_anywhere();

// A stream that waits for an event of a captured stream is captured with it.
cudaError_t join_capture(CUstream_st* stream, const CUevent_st& event);

}  // namespace simt
