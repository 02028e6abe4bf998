// Runs exercise 01/copies on one case. Without a GPU the emulator puts all asynchronous work off
// until somebody waits for it, so that a missing wait shows; y is read as soon as the function has
// returned.
#include <cstring>
#include <stdexcept>
#include <vector>

#include "tools/exercise/runner.hpp"
#include EXERCISE_FILE

int main(int argc, char** argv) {
  return exercise::run(argc, argv, [](exercise::Case& c) {
    const int n = static_cast<int>(c.size("n"));
    const size_t bytes = n * sizeof(float);
    float *const h_x = c.host<float>("x"), *const h_y = c.host<float>("y");
    float *d_x, *d_y;
    cudaStream_t stream;
    exercise::require(cudaHostRegister(h_x, bytes, cudaHostRegisterDefault), "cudaHostRegister");
    exercise::require(cudaHostRegister(h_y, bytes, cudaHostRegisterDefault), "cudaHostRegister");
    exercise::require(cudaMalloc(&d_x, bytes), "cudaMalloc");
    exercise::require(cudaMalloc(&d_y, bytes), "cudaMalloc");
    exercise::require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream");
    const cudaError_t code = vector_add(h_x, h_y, d_x, d_y, n, stream);
    const std::vector<float> returned(h_y, h_y + n);
    exercise::require(code, "vector_add");
    c.done();
    std::vector<float> copied(n);
    exercise::require(cudaMemcpy(copied.data(), d_x, bytes, cudaMemcpyDeviceToHost), "d_x");
    if (std::memcmp(copied.data(), h_x, bytes) != 0)
      throw std::runtime_error("d_x does not hold x: both arrays are to be on the device");
    if (std::memcmp(returned.data(), h_y, bytes) != 0)
      throw std::runtime_error("y changes after the function has returned: nobody waits for it");
    cudaStreamDestroy(stream);
    cudaHostUnregister(h_x), cudaHostUnregister(h_y);
    cudaFree(d_x), cudaFree(d_y);
  });
}
