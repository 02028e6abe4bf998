// graph: record the launches once, then ask for all of them in one call.
//
// Between BeginCapture and EndCapture nothing runs: calls into the stream become nodes of a graph,
// and their order becomes its edges. Instantiating it does once what a launch does each time; the
// GPU then goes from node to node by itself. It pays after some replays (`--sweep kernels` shows
// how many) of the same work: same kernels, same sizes, same pointers. What is left: a gap of about
// a microsecond between kernels that depend on each other. One kernel instead of two removes it.
#pragma once

#include <cuda_runtime.h>

#include "06_atomics_streams/kit/xorshift.cuh"
#include "common/kit/check.cuh"

namespace small_kernels {

// The step of `launches`.
__global__ void small_kernels_graph_kernel(unsigned* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = atomics_streams::xorshift(x[i]);
}

class SmallKernelsGraph {
 public:
  // Records the chain of `launches` on these arguments. The graph keeps the pointer, not the data.
  SmallKernelsGraph(unsigned* x, int n, int kernels) : x_(x), kernels_(kernels) {
    cudaStream_t stream = nullptr;
    cudaGraph_t graph = nullptr;
    CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    // region record
    CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    const int block = 256;
    for (int k = 0; k < kernels; ++k) {
      small_kernels_graph_kernel<<<(n + block - 1) / block, block, 0, stream>>>(x, n);
    }
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaStreamEndCapture(stream, &graph));
    CUDA_CHECK(cudaGraphInstantiateWithFlags(&executable_, graph, 0));
    // endregion
    CUDA_CHECK(cudaGraphDestroy(graph));  // the executable graph does not need it any more
    CUDA_CHECK(cudaStreamDestroy(stream));
  }
  ~SmallKernelsGraph() { cudaGraphExecDestroy(executable_); }
  SmallKernelsGraph(const SmallKernelsGraph&) = delete;
  SmallKernelsGraph& operator=(const SmallKernelsGraph&) = delete;

  bool is_for(const unsigned* x, int kernels) const { return x == x_ && kernels == kernels_; }
  void launch(cudaStream_t stream) const { CUDA_CHECK(cudaGraphLaunch(executable_, stream)); }

 private:
  const unsigned* x_;
  int kernels_;
  cudaGraphExec_t executable_ = nullptr;
};

}  // namespace small_kernels
