// Runs exercise 05/last_block on one case: two sums in turn, with the same scratch memory.
#include "tools/exercise/runner.hpp"
#include EXERCISE_FILE

int main(int argc, char** argv) {
  return exercise::run(argc, argv, [](exercise::Case& c) {
    const int n = static_cast<int>(c.size("n")), blocks = static_cast<int>(c.size("blocks"));
    float *partials = nullptr, *results = c.device<float>("results");
    unsigned* counter = nullptr;
    exercise::require(cudaMalloc(&partials, blocks * sizeof(float)), "cudaMalloc");
    exercise::require(cudaMalloc(&counter, sizeof(unsigned)), "cudaMalloc");
    exercise::require(cudaMemset(counter, 0, sizeof(unsigned)), "cudaMemset");
    sum(c.device<float>("x"), n, blocks, partials, counter, &results[0]);
    sum(c.device<float>("y"), n, blocks, partials, counter, &results[1]);
    exercise::require(cudaDeviceSynchronize(), "the kernel failed");
    cudaFree(partials);
    cudaFree(counter);
  });
}
