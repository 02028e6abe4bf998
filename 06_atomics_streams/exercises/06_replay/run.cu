// Runs exercise 06/replay on one case.
#include "tools/exercise/runner.hpp"
#include EXERCISE_FILE

// The steps do not commute: another order gives another result.
__global__ void step_kernel(unsigned* x, int n, unsigned k) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = (x[i] ^ k) * 5 + k;
}

int main(int argc, char** argv) {
  return exercise::run(argc, argv, [](exercise::Case& c) {
    const int n = static_cast<int>(c.size("n"));
    unsigned* const x = c.device<unsigned>("x");
    int& calls = c.host<int>("calls")[0] = 0;
    cudaStream_t stream = nullptr;
    exercise::require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
    const auto step = [&](int k, cudaStream_t into) {
      ++calls;
      step_kernel<<<(n + 63) / 64, 64, 0, into>>>(x, n, static_cast<unsigned>(k));
    };
    run_chain(step, static_cast<int>(c.size("kernels")), static_cast<int>(c.size("times")), stream);
    exercise::require(cudaGetLastError(), "a call of run_chain failed");
    exercise::require(cudaStreamSynchronize(stream), "a kernel failed");
    cudaStreamDestroy(stream);
  });
}
