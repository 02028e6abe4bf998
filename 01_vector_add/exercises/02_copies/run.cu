// Runs exercise 01/copies on one case. Without a GPU the emulator puts all asynchronous work off
// until somebody waits for it, so that a missing wait shows; y is read as soon as the function has
// returned.
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "tools/exercise/runner.hpp"
#include EXERCISE_FILE

// The size `looks_at` of a case.
constexpr int kResults = 0, kStream = 1, kErrors = 2;

struct RoundTrip {
  float *h_x, *h_y, *d_x, *d_y;
  int n;
  cudaStream_t stream;
};

// What enqueue() puts into the stream is recorded, and does not run.
void look_at_stream(const RoundTrip& r) {
  cudaGraph_t graph = nullptr;
  exercise::require(cudaStreamBeginCapture(r.stream, cudaStreamCaptureModeThreadLocal), "capture");
  const cudaError_t code = enqueue(r.h_x, r.h_y, r.d_x, r.d_y, r.n, r.stream);
  if (cudaStreamEndCapture(r.stream, &graph) != cudaSuccess)
    throw std::runtime_error("enqueue is to put work into `stream`, and to wait for nothing");
  exercise::require(code, "enqueue");
  std::size_t count = 0;
  exercise::require(cudaGraphGetNodes(graph, nullptr, &count), "cudaGraphGetNodes");
  std::vector<cudaGraphNode_t> nodes(count);
  exercise::require(cudaGraphGetNodes(graph, nodes.data(), &count), "cudaGraphGetNodes");
  int copies = 0, kernels = 0;
  for (const cudaGraphNode_t node : nodes) {
    cudaGraphNodeType type;
    exercise::require(cudaGraphNodeGetType(node, &type), "cudaGraphNodeGetType");
    copies += type == cudaGraphNodeTypeMemcpy;
    kernels += type == cudaGraphNodeTypeKernel;
  }
  cudaGraphDestroy(graph);
  if (copies < 3 || kernels < 1)
    throw std::runtime_error("enqueue put " + std::to_string(copies) + " of 3 copies and " +
                             std::to_string(kernels) + " of 1 kernel into `stream`");
}

// Without the host's arrays the copies fail.
void look_at_errors(const RoundTrip& r, std::size_t bytes) {
  exercise::require(cudaMemset(r.d_x, 0, bytes), "cudaMemset");
  exercise::require(cudaMemset(r.d_y, 0, bytes), "cudaMemset");
  exercise::require(cudaDeviceSynchronize(), "cudaMemset");
  const cudaError_t code = vector_add(nullptr, nullptr, r.d_x, r.d_y, r.n, r.stream);
  exercise::require(cudaStreamSynchronize(r.stream), "vector_add");
  cudaGetLastError();  // ours by now
  if (code == cudaSuccess)
    throw std::runtime_error("the copies failed, and vector_add returned cudaSuccess");
}

void look_at_results(exercise::Case& c, const RoundTrip& r, std::size_t bytes) {
  const cudaError_t code = vector_add(r.h_x, r.h_y, r.d_x, r.d_y, r.n, r.stream);
  const std::vector<float> returned(r.h_y, r.h_y + r.n);
  exercise::require(code, "vector_add");
  c.done();
  std::vector<float> copied(r.n);
  exercise::require(cudaMemcpy(copied.data(), r.d_x, bytes, cudaMemcpyDeviceToHost), "d_x");
  if (std::memcmp(copied.data(), r.h_x, bytes) != 0)
    throw std::runtime_error("d_x does not hold x: both arrays are to be on the device");
  if (std::memcmp(returned.data(), r.h_y, bytes) != 0)
    throw std::runtime_error("y changes after the function has returned: nobody waits for it");
}

int main(int argc, char** argv) {
  return exercise::run(argc, argv, [](exercise::Case& c) {
    const int n = static_cast<int>(c.size("n"));
    const std::size_t bytes = n * sizeof(float);
    RoundTrip r = {c.host<float>("x"), c.host<float>("y"), nullptr, nullptr, n, nullptr};
    exercise::require(cudaHostRegister(r.h_x, bytes, cudaHostRegisterDefault), "cudaHostRegister");
    exercise::require(cudaHostRegister(r.h_y, bytes, cudaHostRegisterDefault), "cudaHostRegister");
    exercise::require(cudaMalloc(&r.d_x, bytes), "cudaMalloc");
    exercise::require(cudaMalloc(&r.d_y, bytes), "cudaMalloc");
    exercise::require(cudaStreamCreateWithFlags(&r.stream, cudaStreamNonBlocking), "a stream");
    if (c.size("looks_at") == kResults) look_at_results(c, r, bytes);
    if (c.size("looks_at") == kStream) look_at_stream(r);
    if (c.size("looks_at") == kErrors) look_at_errors(r, bytes);
    cudaStreamDestroy(r.stream);
    cudaHostUnregister(r.h_x), cudaHostUnregister(r.h_y);
    cudaFree(r.d_x), cudaFree(r.d_y);
  });
}
