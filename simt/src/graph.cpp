#include "graph.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "launch.h"
#include "limits.h"
#include "memory.h"
#include "simt/runtime_api.h"

namespace simt {
namespace {

cudaGraphNodeType node_type(Task::Kind kind) {
  switch (kind) {
    case Task::kKernel: return cudaGraphNodeTypeKernel;
    case Task::kCopy: return cudaGraphNodeTypeMemcpy;
    case Task::kFill: return cudaGraphNodeTypeMemset;
    case Task::kHost: return cudaGraphNodeTypeHost;
    default: return cudaGraphNodeTypeEmpty;
  }
}

CUgraphNode_st* add_node(CUgraph_st* graph, Task task, std::vector<CUgraphNode_st*> before) {
  auto node = std::make_unique<CUgraphNode_st>();
  node->graph = graph;
  node->type = node_type(task.kind);
  node->task = std::move(task);
  node->before = std::move(before);
  graph->nodes.push_back(std::move(node));
  return graph->nodes.back().get();
}

// A deep copy; `copies` receives the copy of every node.
std::unique_ptr<CUgraph_st> clone(const CUgraph_st& graph,
                                  std::map<const CUgraphNode_st*, CUgraphNode_st*>* copies) {
  auto result = std::make_unique<CUgraph_st>();
  for (const auto& node : graph.nodes) {
    CUgraphNode_st* copy = add_node(result.get(), node->task, {});
    copy->type = node->type;
    copy->enabled = node->enabled;
    (*copies)[node.get()] = copy;
    if (node->child) {
      result->children.push_back(clone(*node->child, copies));
      copy->child = result->children.back().get();
    }
  }
  for (const auto& node : graph.nodes)
    for (CUgraphNode_st* earlier : node->before)
      (*copies)[node.get()]->before.push_back((*copies)[earlier]);
  return result;
}

// Nodes so that every node comes after those it depends on; fewer than all if there is a cycle.
std::vector<CUgraphNode_st*> sorted(const CUgraph_st& graph) {
  std::vector<CUgraphNode_st*> order;
  std::map<CUgraphNode_st*, bool> placed;
  for (bool progress = true; progress;) {
    progress = false;
    for (const auto& node : graph.nodes) {
      if (placed[node.get()]) continue;
      bool ready = std::all_of(node->before.begin(), node->before.end(),
                               [&](CUgraphNode_st* n) { return placed[n]; });
      if (!ready) continue;
      placed[node.get()] = progress = true;
      order.push_back(node.get());
    }
  }
  return order;
}

// Starts every node of the graph behind `start`; returns their operations.
std::vector<OperationPtr> launch_nodes(const CUgraph_st& graph, const OperationPtr& start) {
  std::map<CUgraphNode_st*, OperationPtr> started;
  std::vector<OperationPtr> all;
  for (CUgraphNode_st* node : sorted(graph)) {
    std::vector<OperationPtr> before{start};
    for (CUgraphNode_st* earlier : node->before) before.push_back(started[earlier]);
    if (node->child) {
      OperationPtr child_start = Device::get().enqueue_after(before, Task{});
      std::vector<OperationPtr> inner = launch_nodes(*node->child, child_start);
      inner.push_back(child_start);
      started[node] = Device::get().enqueue_after(inner, Task{});
    } else {
      started[node] = Device::get().enqueue_after(before, node->enabled ? node->task : Task{});
    }
    all.push_back(started[node]);
  }
  return all;
}

bool same_shape(const CUgraph_st& a, const CUgraph_st& b) {
  if (a.nodes.size() != b.nodes.size()) return false;
  std::map<const CUgraphNode_st*, size_t> place_a, place_b;
  for (size_t i = 0; i < a.nodes.size(); ++i) {
    place_a[a.nodes[i].get()] = i;
    place_b[b.nodes[i].get()] = i;
  }
  for (size_t i = 0; i < a.nodes.size(); ++i) {
    const auto &x = *a.nodes[i], &y = *b.nodes[i];
    if (x.before.size() != y.before.size()) return false;
    for (size_t k = 0; k < x.before.size(); ++k)
      if (place_a[x.before[k]] != place_b[y.before[k]]) return false;
  }
  return true;
}

// A launch of a kernel given by pointer, as a task.
cudaError_t kernel_task(const cudaKernelNodeParams& p, Task* task) {
  LaunchRequest request;
  request.shape = {p.gridDim, p.blockDim, p.sharedMemBytes, false, {}};
  request.record = task;
  return launch_by_pointer(p.func, request, p.kernelParams);
}

}  // namespace

// ---- capture ----------------------------------------------------------------------------------

cudaError_t submit(CUstream_st* stream, Task task, OperationPtr* operation) {
  Device& device = Device::get();
  if (stream->capture) {
    task.device = stream->device;
    stream->capture_tail = {add_node(stream->capture, std::move(task), stream->capture_tail)};
    return cudaSuccess;
  }
  if (stream == device.stream(cudaStreamLegacy) && device.any_blocking_capture())
    return cudaErrorStreamCaptureImplicit;
  OperationPtr made = device.enqueue(stream, std::move(task));
  if (operation) *operation = made;
  return cudaSuccess;
}

cudaError_t check_no_capture(CUstream_st* stream) {
  if (!stream->capture) return cudaSuccess;
  stream->capture_invalid = true;
  return cudaErrorStreamCaptureUnsupported;
}

cudaError_t check_no_capture_anywhere() {
  return Device::get().invalidate_captures() ? cudaErrorStreamCaptureUnsupported : cudaSuccess;
}

cudaError_t join_capture(CUstream_st* stream, const CUevent_st& event) {
  if (stream->capture && stream->capture != event.capture) return cudaErrorStreamCaptureMerge;
  stream->capture = event.capture;
  for (CUgraphNode_st* node : event.capture_tail)
    if (std::find(stream->capture_tail.begin(), stream->capture_tail.end(), node) ==
        stream->capture_tail.end())
      stream->capture_tail.push_back(node);
  return cudaSuccess;
}

}  // namespace simt

using namespace simt;

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  CUstream_st* stream = Device::get().stream(handle);
  if (!stream) return record_error(cudaErrorInvalidResourceHandle);
  if (stream == Device::get().stream(cudaStreamLegacy))
    return record_error(cudaErrorStreamCaptureUnsupported);
  if (stream->capture) return record_error(cudaErrorIllegalState);
  stream->capture = new CUgraph_st;
  stream->capture_origin = true;
  stream->capture->capture_mode = mode;
  stream->capture_tail.clear();
  return record_error(cudaSuccess);
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  CUstream_st* stream = Device::get().stream(handle);
  if (!stream || !graph) return record_error(cudaErrorInvalidValue);
  *graph = nullptr;
  if (!stream->capture) return record_error(cudaErrorIllegalState);
  if (!stream->capture_origin) return record_error(cudaErrorStreamCaptureUnmatched);
  CUgraph_st* captured = stream->capture;
  const bool invalid = stream->capture_invalid;
  const bool joined = Device::get().end_capture(captured, stream->capture_tail);
  if (invalid || !joined) {
    delete captured;
    return record_error(invalid ? cudaErrorStreamCaptureInvalidated
                                : cudaErrorStreamCaptureUnjoined);
  }
  *graph = captured;
  return record_error(cudaSuccess);
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  return cudaStreamGetCaptureInfo(handle, status);
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t handle, cudaStreamCaptureStatus* status,
                                     unsigned long long* id, cudaGraph_t* graph,
                                     const cudaGraphNode_t** dependencies,
                                     const cudaGraphEdgeData** edges, size_t* count) {
  CUstream_st* stream = Device::get().stream(handle);
  if (!stream || !status) return record_error(cudaErrorInvalidValue);
  *status = !stream->capture          ? cudaStreamCaptureStatusNone
            : stream->capture_invalid ? cudaStreamCaptureStatusInvalidated
                                      : cudaStreamCaptureStatusActive;
  if (id) *id = reinterpret_cast<unsigned long long>(stream->capture);
  if (graph) *graph = stream->capture;
  if (dependencies) *dependencies = stream->capture_tail.data();
  if (edges) *edges = nullptr;
  if (count) *count = stream->capture_tail.size();
  return record_error(cudaSuccess);
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  static thread_local cudaStreamCaptureMode current = cudaStreamCaptureModeGlobal;
  std::swap(*mode, current);
  return record_error(cudaSuccess);
}

// ---- graphs -----------------------------------------------------------------------------------

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned flags) {
  if (!graph || flags != 0) return record_error(cudaErrorInvalidValue);
  *graph = new CUgraph_st;
  return record_error(cudaSuccess);
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  if (!graph) return record_error(cudaErrorInvalidValue);
  delete graph;
  return record_error(cudaSuccess);
}

cudaError_t cudaGraphClone(cudaGraph_t* result, cudaGraph_t original) {
  if (!result || !original) return record_error(cudaErrorInvalidValue);
  std::map<const CUgraphNode_st*, CUgraphNode_st*> copies;
  *result = clone(*original, &copies).release();
  return record_error(cudaSuccess);
}

// Without a place for them only their number is told; what is more than there are is null.
static cudaError_t tell(const std::vector<CUgraphNode_st*>& found, cudaGraphNode_t* nodes,
                        size_t* count) {
  if (nodes)
    for (size_t i = 0; i < *count; ++i) nodes[i] = i < found.size() ? found[i] : nullptr;
  if (!nodes || *count > found.size()) *count = found.size();
  return record_error(cudaSuccess);
}
// Edges have no data of their own.
static void clear(cudaGraphEdgeData* edges, const size_t* count) {
  if (edges && count) std::memset(static_cast<void*>(edges), 0, *count * sizeof *edges);
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  if (!graph || !count) return record_error(cudaErrorInvalidValue);
  std::vector<CUgraphNode_st*> all;
  for (const auto& node : graph->nodes) all.push_back(node.get());
  return tell(all, nodes, count);
}

cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  if (!graph || !count) return record_error(cudaErrorInvalidValue);
  std::vector<CUgraphNode_st*> roots;
  for (const auto& node : graph->nodes)
    if (node->before.empty()) roots.push_back(node.get());
  return tell(roots, nodes, count);
}

cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                              cudaGraphEdgeData* edges, size_t* count) {
  if (!graph || !count || !from != !to) return record_error(cudaErrorInvalidValue);
  std::vector<CUgraphNode_st*> earlier, later;
  for (const auto& node : graph->nodes)
    for (CUgraphNode_st* before : node->before) {
      earlier.push_back(before);
      later.push_back(node.get());
    }
  clear(from ? edges : nullptr, count);
  size_t both = *count;
  tell(earlier, from, &both);
  return tell(later, to, count);
}

cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* nodes,
                                         cudaGraphEdgeData* edges, size_t* count) {
  if (!node || !count) return record_error(cudaErrorInvalidValue);
  clear(nodes ? edges : nullptr, count);
  return tell(node->before, nodes, count);
}

cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t* nodes,
                                           cudaGraphEdgeData* edges, size_t* count) {
  if (!node || !count) return record_error(cudaErrorInvalidValue);
  std::vector<CUgraphNode_st*> later;
  for (const auto& each : node->graph->nodes)
    if (std::find(each->before.begin(), each->before.end(), node) != each->before.end())
      later.push_back(each.get());
  clear(nodes ? edges : nullptr, count);
  return tell(later, nodes, count);
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
  if (!node || !type) return record_error(cudaErrorInvalidValue);
  *type = node->type;
  return record_error(cudaSuccess);
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                     const cudaGraphNode_t* to, const cudaGraphEdgeData*,
                                     size_t count) {
  if (!graph) return record_error(cudaErrorInvalidValue);
  for (size_t i = 0; i < count; ++i) to[i]->before.push_back(from[i]);
  return record_error(cudaSuccess);
}

static cudaError_t add(cudaGraphNode_t* node, cudaGraph_t graph,
                       const cudaGraphNode_t* dependencies, size_t count, Task task) {
  if (!node || !graph || (count && !dependencies)) return record_error(cudaErrorInvalidValue);
  *node = add_node(graph, std::move(task), {dependencies, dependencies + count});
  return record_error(cudaSuccess);
}

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                  const cudaGraphNode_t* dependencies, size_t count) {
  return add(node, graph, dependencies, count, Task{});
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   const cudaGraphNode_t* dependencies, size_t count,
                                   const cudaKernelNodeParams* parameters) {
  if (!parameters) return record_error(cudaErrorInvalidValue);
  Task task;
  if (cudaError_t e = kernel_task(*parameters, &task)) return record_error(e);
  return add(node, graph, dependencies, count, std::move(task));
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph,
                                     const cudaGraphNode_t* dependencies, size_t count, void* to,
                                     const void* from, size_t bytes, cudaMemcpyKind kind) {
  if (cudaError_t e = check_copy(to, from, bytes, &kind)) return record_error(e);
  Task task;
  task.kind = Task::kCopy;
  task.work = [=] {
    memmove(to, from, bytes);
    if (observer) observer->copied(to, from, bytes, {});
  };
  return add(node, graph, dependencies, count, std::move(task));
}

cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   const cudaGraphNode_t* dependencies, size_t count,
                                   const cudaMemsetParams* parameters) {
  if (!parameters) return record_error(cudaErrorInvalidValue);
  const cudaMemsetParams p = *parameters;
  if (p.elementSize != 1 && p.elementSize != 2 && p.elementSize != 4)
    return record_error(cudaErrorInvalidValue);
  const size_t row = p.width * p.elementSize;
  if (p.height == 0 || p.width == 0) return record_error(cudaErrorInvalidValue);
  if (cudaError_t e =
          check_device_range(p.dst, (p.height > 1 ? p.pitch : row) * (p.height - 1) + row))
    return record_error(e);
  Task task;
  task.kind = Task::kFill;
  task.work = [=] {
    for (size_t y = 0; y < p.height; ++y) {
      char* to = static_cast<char*>(p.dst) + y * p.pitch;
      for (size_t x = 0; x < p.width; ++x) memcpy(to + x * p.elementSize, &p.value, p.elementSize);
      if (observer) observer->filled(to, row, {});
    }
  };
  return add(node, graph, dependencies, count, std::move(task));
}

cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                 const cudaGraphNode_t* dependencies, size_t count,
                                 const cudaHostNodeParams* parameters) {
  if (!parameters || !parameters->fn) return record_error(cudaErrorInvalidValue);
  const cudaHostNodeParams p = *parameters;
  Task task;
  task.kind = Task::kHost;
  task.work = [=] { p.fn(p.userData); };
  return add(node, graph, dependencies, count, std::move(task));
}

cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                       const cudaGraphNode_t* dependencies, size_t count,
                                       cudaGraph_t child) {
  if (!child) return record_error(cudaErrorInvalidValue);
  if (cudaError_t e = add(node, graph, dependencies, count, Task{})) return e;
  std::map<const CUgraphNode_st*, CUgraphNode_st*> copies;
  graph->children.push_back(clone(*child, &copies));
  (*node)->child = graph->children.back().get();
  (*node)->type = cudaGraphNodeTypeGraph;
  return record_error(cudaSuccess);
}

cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node,
                                         const cudaKernelNodeParams* parameters) {
  if (!node || !parameters || node->type != cudaGraphNodeTypeKernel)
    return record_error(cudaErrorInvalidValue);
  return record_error(kernel_task(*parameters, &node->task));
}

// ---- executable graphs ------------------------------------------------------------------------

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 unsigned long long) {
  if (!executable || !graph) return record_error(cudaErrorInvalidValue);
  if (sorted(*graph).size() != graph->nodes.size()) return record_error(cudaErrorInvalidValue);
  auto made = std::make_unique<CUgraphExec_st>();
  std::map<const CUgraphNode_st*, CUgraphNode_st*> copies;
  made->graph = clone(*graph, &copies);
  for (const auto& node : graph->nodes) made->originals.push_back(node.get());
  *executable = made.release();
  return record_error(cudaSuccess);
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 cudaGraphNode_t* error_node, char* log, size_t log_bytes) {
  if (error_node) *error_node = nullptr;
  if (log && log_bytes) *log = 0;
  return cudaGraphInstantiate(executable, graph, 0ull);
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* executable, cudaGraph_t graph,
                                          unsigned long long flags) {
  return cudaGraphInstantiate(executable, graph, flags);
}

cudaError_t cudaGraphUpload(cudaGraphExec_t executable, cudaStream_t stream) {
  if (!executable || !Device::get().stream(stream)) return record_error(cudaErrorInvalidValue);
  return record_error(cudaSuccess);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t handle) {
  CUstream_st* stream = Device::get().stream(handle);
  if (!executable || !stream) return record_error(cudaErrorInvalidValue);
  if (stream->capture) {
    std::map<const CUgraphNode_st*, CUgraphNode_st*> copies;
    stream->capture->children.push_back(clone(*executable->graph, &copies));
    CUgraphNode_st* node = add_node(stream->capture, Task{}, stream->capture_tail);
    node->type = cudaGraphNodeTypeGraph;
    node->child = stream->capture->children.back().get();
    stream->capture_tail = {node};
    return record_error(cudaSuccess);
  }
  Device::get().enqueue_graph(
      stream, [&](const OperationPtr& start) { return launch_nodes(*executable->graph, start); });
  return record_error(cudaSuccess);
}

// The executable's own copy of the node; null: it was not made from that.
static CUgraphNode_st* copy_of(cudaGraphExec_t executable, cudaGraphNode_t node) {
  if (!executable) return nullptr;
  auto found = std::find(executable->originals.begin(), executable->originals.end(), node);
  if (found == executable->originals.end()) return nullptr;
  return executable->graph->nodes[found - executable->originals.begin()].get();
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                             const cudaKernelNodeParams* parameters) {
  CUgraphNode_st* copy = copy_of(executable, node);
  if (!copy || !parameters || copy->type != cudaGraphNodeTypeKernel)
    return record_error(cudaErrorInvalidValue);
  return record_error(kernel_task(*parameters, &copy->task));
}

// Kernels, copies and fills can be switched off.
static bool can_be_off(const CUgraphNode_st* node) {
  return node && (node->type == cudaGraphNodeTypeKernel || node->type == cudaGraphNodeTypeMemcpy ||
                  node->type == cudaGraphNodeTypeMemset);
}
cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t executable, cudaGraphNode_t node,
                                    unsigned enabled) {
  CUgraphNode_st* copy = copy_of(executable, node);
  if (!can_be_off(copy)) return record_error(cudaErrorInvalidValue);
  copy->enabled = enabled != 0;
  return record_error(cudaSuccess);
}
cudaError_t cudaGraphNodeGetEnabled(cudaGraphExec_t executable, cudaGraphNode_t node,
                                    unsigned* enabled) {
  const CUgraphNode_st* copy = copy_of(executable, node);
  if (!can_be_off(copy) || !enabled) return record_error(cudaErrorInvalidValue);
  *enabled = copy->enabled;
  return record_error(cudaSuccess);
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t executable, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo* result) {
  if (!executable || !graph || !result) return record_error(cudaErrorInvalidValue);
  *result = {cudaGraphExecUpdateSuccess, nullptr, nullptr};
  if (!same_shape(*executable->graph, *graph)) {
    result->result = cudaGraphExecUpdateErrorTopologyChanged;
    return record_error(cudaErrorGraphExecUpdateFailure);
  }
  for (size_t i = 0; i < graph->nodes.size(); ++i) {
    if (executable->graph->nodes[i]->type == graph->nodes[i]->type) continue;
    *result = {cudaGraphExecUpdateErrorNodeTypeChanged, graph->nodes[i].get(), nullptr};
    return record_error(cudaErrorGraphExecUpdateFailure);
  }
  for (size_t i = 0; i < graph->nodes.size(); ++i)
    executable->graph->nodes[i]->task = graph->nodes[i]->task;
  return record_error(cudaSuccess);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  if (!executable) return record_error(cudaErrorInvalidValue);
  delete executable;
  return record_error(cudaSuccess);
}
