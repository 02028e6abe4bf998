// Runs exercise 01/copies on one case. Without a GPU the emulator puts all asynchronous work off
// until somebody waits for it, so that a missing wait shows; y is read as soon as the function has
// returned.
#include <cstdlib>
#include <cstring>

#include "tools/exercise/runner.hpp"
#include EXERCISE_FILE

int main(int argc, char** argv) {
  setenv("SIMT_STREAMS", "deferred", 1);
  return exercise::run(argc, argv, [](exercise::Case& c) {
    const int n = static_cast<int>(c.size("n"));
    const size_t bytes = n * sizeof(float);
    float *h_x, *h_y, *d_x, *d_y;
    cudaStream_t stream;
    exercise::require(cudaMallocHost(&h_x, bytes), "cudaMallocHost");
    exercise::require(cudaMallocHost(&h_y, bytes), "cudaMallocHost");
    exercise::require(cudaMalloc(&d_x, bytes), "cudaMalloc");
    exercise::require(cudaMalloc(&d_y, bytes), "cudaMalloc");
    exercise::require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream");
    std::memcpy(h_x, c.host<float>("x"), bytes);
    std::memcpy(h_y, c.host<float>("y"), bytes);
    const cudaError_t code = vector_add(h_x, h_y, d_x, d_y, n, stream);
    std::memcpy(c.host<float>("y"), h_y, bytes);
    exercise::require(code, "vector_add");
    exercise::require(cudaDeviceSynchronize(), "the kernel failed");
    cudaStreamDestroy(stream);
    cudaFreeHost(h_x), cudaFreeHost(h_y);
    cudaFree(d_x), cudaFree(d_y);
  });
}
