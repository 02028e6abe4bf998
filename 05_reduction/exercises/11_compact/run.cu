// Runs exercise 05/compact on one case.
#include "tools/exercise/runner.hpp"
#include EXERCISE_FILE

int main(int argc, char** argv) {
  return exercise::run(argc, argv, [](exercise::Case& c) {
    const int n = static_cast<int>(c.size("n"));
    int* scratch = nullptr;
    exercise::require(cudaMalloc(&scratch, (n + 255) / 256 * sizeof(int)), "cudaMalloc");
    compact(c.device<float>("x"), n, c.device<float>("y"), c.device<int>("count"), scratch);
    exercise::require(cudaDeviceSynchronize(), "a kernel failed");
    cudaFree(scratch);
  });
}
