// Runs exercise 07/diagonal on one case.
#include "tools/exercise/runner.hpp"
#include EXERCISE_FILE

__global__ void counts_kernel(int* counts, int n_q, int n_k) {
  counts[threadIdx.x] = visible_keys(threadIdx.x, n_q, n_k);
}

int main(int argc, char** argv) {
  return exercise::run(argc, argv, [](exercise::Case& c) {
    if (c.size("only")) {
      const int n_q = static_cast<int>(c.size("n_q"));
      counts_kernel<<<1, n_q>>>(c.device<int>("counts"), n_q, static_cast<int>(c.size("n_k")));
      return;
    }
    attention(c.device<float>("q"), c.device<float>("k"), c.device<float>("v"),
              c.device<float>("o"), static_cast<int>(c.size("n_q")),
              static_cast<int>(c.size("n_k")));
  });
}
