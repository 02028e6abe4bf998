// Graphs: recorded from streams, built by hand, launched, updated.
#include <vector>

#include "simt/tests/device_array.hpp"
#include "tests/catch.hpp"

__global__ void scale_add(int* data, int n, int factor, int value) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] = data[i] * factor + value;
}
__global__ void total(const int* a, const int* b, int* out) { *out = *a + *b; }

namespace {

struct Stream {
  cudaStream_t handle;
  Stream() { REQUIRE(cudaStreamCreateWithFlags(&handle, cudaStreamNonBlocking) == cudaSuccess); }
  ~Stream() { cudaStreamDestroy(handle); }
  operator cudaStream_t() const { return handle; }
};

}  // namespace

TEST_CASE("a captured stream does nothing until its graph is launched") {
  Stream stream;
  DeviceArray<int> data(100, 1);
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
  for (int i = 0; i < 10; ++i) scale_add<<<1, 128, 0, stream>>>(data.get(), 100, 2, 0);
  REQUIRE(cudaMemsetAsync(data.get(), 0, 4, stream) == cudaSuccess);
  cudaStreamCaptureStatus status;
  REQUIRE(cudaStreamIsCapturing(stream, &status) == cudaSuccess);
  CHECK(status == cudaStreamCaptureStatusActive);
  REQUIRE(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
  CHECK(data.values()[50] == 1);
  size_t nodes = 0;
  REQUIRE(cudaGraphGetNodes(graph, nullptr, &nodes) == cudaSuccess);
  CHECK(nodes == 11);
  REQUIRE(cudaGraphInstantiate(&executable, graph, 0) == cudaSuccess);
  REQUIRE(cudaGraphDestroy(graph) == cudaSuccess);
  REQUIRE(cudaGraphLaunch(executable, stream) == cudaSuccess);
  CHECK(data.values()[50] == 1024);
  CHECK(data.values()[0] == 0);
  REQUIRE(cudaGraphLaunch(executable, stream) == cudaSuccess);
  REQUIRE(cudaGraphLaunch(executable, stream) == cudaSuccess);
  CHECK(data.values()[50] == 1024 * 1024 * 1024);
  CHECK(cudaGraphExecDestroy(executable) == cudaSuccess);
}

TEST_CASE("capture follows events into other streams") {
  Stream first, second;
  cudaEvent_t fork, join;
  REQUIRE(cudaEventCreate(&fork) == cudaSuccess);
  REQUIRE(cudaEventCreate(&join) == cudaSuccess);
  DeviceArray<int> a(1, 1), b(1, 1), out(1, 0);
  cudaGraph_t graph;
  REQUIRE(cudaStreamBeginCapture(first, cudaStreamCaptureModeRelaxed) == cudaSuccess);
  scale_add<<<1, 1, 0, first>>>(a.get(), 1, 1, 4);
  REQUIRE(cudaEventRecord(fork, first) == cudaSuccess);
  REQUIRE(cudaStreamWaitEvent(second, fork, 0) == cudaSuccess);
  scale_add<<<1, 1, 0, second>>>(b.get(), 1, 1, 10);
  scale_add<<<1, 1, 0, first>>>(a.get(), 1, 2, 0);
  void* memory = nullptr;  // a relaxed capture allows this, in every stream of it
  CHECK(cudaMalloc(&memory, 16) == cudaSuccess);
  CHECK(cudaFree(memory) == cudaSuccess);
  SECTION("joined again") {
    REQUIRE(cudaEventRecord(join, second) == cudaSuccess);
    REQUIRE(cudaStreamWaitEvent(first, join, 0) == cudaSuccess);
    total<<<1, 1, 0, first>>>(a.get(), b.get(), out.get());
    REQUIRE(cudaStreamEndCapture(first, &graph) == cudaSuccess);
    cudaGraphExec_t executable;
    REQUIRE(cudaGraphInstantiate(&executable, graph, 0) == cudaSuccess);
    REQUIRE(cudaGraphLaunch(executable, first) == cudaSuccess);
    CHECK(out.values()[0] == 10 + 11);
    cudaGraphExecDestroy(executable);
    cudaGraphDestroy(graph);
  }
  SECTION("not joined") {
    CHECK(cudaStreamEndCapture(first, &graph) == cudaErrorStreamCaptureUnjoined);
    CHECK(cudaGetLastError() == cudaErrorStreamCaptureUnjoined);
  }
  cudaEventDestroy(fork);
  cudaEventDestroy(join);
}

TEST_CASE("memory that a graph would allocate or free is refused") {
  Stream stream;
  int *outside = nullptr, *inside = nullptr;
  REQUIRE(cudaMallocAsync(&outside, 16, stream) == cudaSuccess);
  REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
  CHECK(cudaMallocAsync(&inside, 16, stream) == cudaErrorNotSupported);
  CHECK(cudaFreeAsync(outside, stream) == cudaErrorNotSupported);
  cudaGraph_t graph;
  CHECK(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
  CHECK(cudaGraphDestroy(graph) == cudaSuccess);
  CHECK(cudaFreeAsync(outside, stream) == cudaSuccess);
  CHECK(cudaGetLastError() == cudaErrorNotSupported);
}

TEST_CASE("waiting for a captured stream breaks the capture") {
  Stream stream;
  cudaGraph_t graph;
  REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
  CHECK(cudaStreamSynchronize(stream) == cudaErrorStreamCaptureUnsupported);
  CHECK(cudaStreamEndCapture(stream, &graph) == cudaErrorStreamCaptureInvalidated);
  CHECK(graph == nullptr);
  CHECK(cudaGetLastError() == cudaErrorStreamCaptureInvalidated);
}

TEST_CASE("allocating memory breaks a capture") {
  Stream stream;
  cudaGraph_t graph;
  int* data = nullptr;
  REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
  CHECK(cudaMalloc(&data, 4) == cudaErrorStreamCaptureUnsupported);
  CHECK(cudaStreamEndCapture(stream, &graph) == cudaErrorStreamCaptureInvalidated);
  CHECK(cudaStreamEndCapture(stream, &graph) == cudaErrorIllegalState);
  CHECK(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal) ==
        cudaErrorStreamCaptureUnsupported);
  cudaGetLastError();
}

TEST_CASE("a graph tells its shape, and a node of it may be switched off") {
  Stream stream, other;
  DeviceArray<int> a(4, 1), b(4, 1);
  cudaEvent_t forked, joined;
  REQUIRE(cudaEventCreate(&forked) == cudaSuccess);
  REQUIRE(cudaEventCreate(&joined) == cudaSuccess);
  cudaGraph_t graph;
  REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
  scale_add<<<1, 32, 0, stream>>>(a.get(), 4, 2, 0);
  cudaEventRecord(forked, stream);
  cudaStreamWaitEvent(other, forked);
  scale_add<<<1, 32, 0, other>>>(b.get(), 4, 3, 0);
  cudaEventRecord(joined, other);
  scale_add<<<1, 32, 0, stream>>>(a.get(), 4, 1, 10);
  cudaStreamWaitEvent(stream, joined);
  total<<<1, 1, 0, stream>>>(a.get(), b.get(), a.get() + 3);
  REQUIRE(cudaStreamEndCapture(stream, &graph) == cudaSuccess);

  size_t count = 0;
  REQUIRE(cudaGraphGetRootNodes(graph, nullptr, &count) == cudaSuccess);
  REQUIRE(count == 1);
  cudaGraphNode_t root, from[5], to[5], last[3];
  REQUIRE(cudaGraphGetRootNodes(graph, &root, &count) == cudaSuccess);
  REQUIRE(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &count) == cudaSuccess);
  REQUIRE(count == 4);
  count = 5;
  REQUIRE(cudaGraphGetEdges(graph, from, to, nullptr, &count) == cudaSuccess);
  CHECK(count == 4);
  int of_root = 0;
  for (size_t i = 0; i < count; ++i) of_root += from[i] == root;
  CHECK(of_root == 2);
  count = 3;
  REQUIRE(cudaGraphNodeGetDependentNodes(root, last, nullptr, &count) == cudaSuccess);
  REQUIRE(count == 2);
  CHECK(last[2] == nullptr);
  const cudaGraphNode_t second = last[0];
  count = 3;
  REQUIRE(cudaGraphNodeGetDependentNodes(second, last, nullptr, &count) == cudaSuccess);
  REQUIRE(count == 1);
  const cudaGraphNode_t end = last[0];
  count = 3;
  REQUIRE(cudaGraphNodeGetDependencies(end, last, nullptr, &count) == cudaSuccess);
  CHECK(count == 2);
  REQUIRE(cudaGraphNodeGetDependencies(root, nullptr, nullptr, &count) == cudaSuccess);
  CHECK(count == 0);

  cudaGraphExec_t executable;
  REQUIRE(cudaGraphInstantiate(&executable, graph, 0) == cudaSuccess);
  unsigned enabled = 0;
  CHECK(cudaGraphNodeGetEnabled(executable, end, &enabled) == cudaSuccess);
  CHECK(enabled == 1);
  CHECK(cudaGraphNodeSetEnabled(executable, end, 0) == cudaSuccess);
  CHECK(cudaGraphNodeGetEnabled(executable, end, &enabled) == cudaSuccess);
  CHECK(enabled == 0);
  REQUIRE(cudaGraphLaunch(executable, stream) == cudaSuccess);
  REQUIRE(cudaStreamSynchronize(stream) == cudaSuccess);
  CHECK(a.values()[3] == 12);
  CHECK(cudaGraphNodeSetEnabled(executable, end, 1) == cudaSuccess);
  REQUIRE(cudaGraphLaunch(executable, stream) == cudaSuccess);
  REQUIRE(cudaStreamSynchronize(stream) == cudaSuccess);
  CHECK(a.values()[0] == 34);
  CHECK(a.values()[3] == 34 + 9);
  CHECK(cudaGraphNodeSetEnabled(executable, nullptr, 1) == cudaErrorInvalidValue);
  cudaGetLastError();
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
  cudaEventDestroy(forked), cudaEventDestroy(joined);
}

TEST_CASE("a graph built node by node, then changed") {
  DeviceArray<int> data(4, 1);
  int* pointer = data.get();
  int n = 4, factor = 3, value = 1;
  void* arguments[] = {&pointer, &n, &factor, &value};
  cudaKernelNodeParams kernel{};
  kernel.func = (void*)scale_add;
  kernel.gridDim = dim3(1);
  kernel.blockDim = dim3(32);
  kernel.kernelParams = arguments;
  cudaGraph_t graph;
  cudaGraphNode_t fill, compute, host;
  REQUIRE(cudaGraphCreate(&graph, 0) == cudaSuccess);
  cudaMemsetParams memset{};
  memset.dst = pointer;
  memset.value = 5;
  memset.elementSize = 4;
  memset.width = 4;
  memset.height = 1;
  REQUIRE(cudaGraphAddMemsetNode(&fill, graph, nullptr, 0, &memset) == cudaSuccess);
  REQUIRE(cudaGraphAddKernelNode(&compute, graph, &fill, 1, &kernel) == cudaSuccess);
  int calls = 0;
  cudaHostNodeParams count{};
  count.fn = [](void* p) { ++*static_cast<int*>(p); };
  count.userData = &calls;
  REQUIRE(cudaGraphAddHostNode(&host, graph, &compute, 1, &count) == cudaSuccess);
  cudaGraphNodeType type;
  REQUIRE(cudaGraphNodeGetType(compute, &type) == cudaSuccess);
  CHECK(type == cudaGraphNodeTypeKernel);
  cudaGraphExec_t executable;
  REQUIRE(cudaGraphInstantiate(&executable, graph, 0) == cudaSuccess);
  REQUIRE(cudaGraphLaunch(executable, nullptr) == cudaSuccess);
  CHECK(data.values()[3] == 16);
  CHECK(calls == 1);
  value = 100;
  REQUIRE(cudaGraphExecKernelNodeSetParams(executable, compute, &kernel) == cudaSuccess);
  REQUIRE(cudaGraphLaunch(executable, nullptr) == cudaSuccess);
  CHECK(data.values()[3] == 115);
  value = 7;
  REQUIRE(cudaGraphKernelNodeSetParams(compute, &kernel) == cudaSuccess);
  cudaGraphExecUpdateResultInfo result;
  REQUIRE(cudaGraphExecUpdate(executable, graph, &result) == cudaSuccess);
  CHECK(result.result == cudaGraphExecUpdateSuccess);
  REQUIRE(cudaGraphLaunch(executable, nullptr) == cudaSuccess);
  CHECK(data.values()[3] == 22);
  cudaGraphNode_t another;
  REQUIRE(cudaGraphAddEmptyNode(&another, graph, nullptr, 0) == cudaSuccess);
  CHECK(cudaGraphExecUpdate(executable, graph, &result) == cudaErrorGraphExecUpdateFailure);
  CHECK(result.result == cudaGraphExecUpdateErrorTopologyChanged);
  cudaGetLastError();
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
}
