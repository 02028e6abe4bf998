// Runs exercise 05/look_back on one case: a whole scan, or one tile between others that have told
// what the case says.
#include <cstring>
#include <vector>

#include "tools/exercise/runner.hpp"
#include EXERCISE_FILE

// Block 0 has the tile. Block 1, if there is one, has the tile before it, and says what it knows
// once block 0 has spoken.
__global__ void look_back_kernel(State* states, int tile, float sum, float* before, float late) {
  if (blockIdx.x == 0) {
    *before = look_back(states, tile, sum);
  } else {
    wait_for_state(states, tile);
    publish(states, tile - 1, make_state(kSumUpToEnd, late));
  }
}

void scan_all(exercise::Case& c, int n) {
  const int tiles = (n + kTile - 1) / kTile;
  State* states = nullptr;
  exercise::require(cudaMalloc(&states, (tiles + 1) * sizeof(State)), "cudaMalloc");
  exercise::require(cudaMemset(states, 0, (tiles + 1) * sizeof(State)), "cudaMemset");
  scan(c.device<float>("x"), c.device<float>("y"), n, states,
       reinterpret_cast<unsigned*>(states + tiles));
  exercise::require(cudaDeviceSynchronize(), "the kernel failed");
  cudaFree(states);
}

void one_tile(exercise::Case& c, int tile) {
  int* const flags = c.host<int>("flags");
  float* const sums = c.host<float>("sums");
  std::vector<State> told(tile + 1);
  for (int k = 0; k <= tile; ++k) {
    std::memcpy(&told[k], &sums[k], sizeof(float));
    told[k] |= static_cast<State>(flags[k]) << 32;
  }
  State* states = nullptr;
  const std::size_t bytes = told.size() * sizeof(State);
  exercise::require(cudaMalloc(&states, bytes), "cudaMalloc");
  exercise::require(cudaMemcpy(states, told.data(), bytes, cudaMemcpyHostToDevice), "copy");
  c.copied(bytes);
  const int blocks = c.size("is_late") ? 2 : 1;
  look_back_kernel<<<blocks, 1>>>(states, tile, *c.host<float>("sum"), c.device<float>("before"),
                                  *c.host<float>("late"));
  c.done();
  exercise::require(cudaMemcpy(told.data(), states, bytes, cudaMemcpyDeviceToHost), "look_back");
  for (int k = 0; k <= tile; ++k) {
    std::memcpy(&sums[k], &told[k], sizeof(float));
    flags[k] = static_cast<int>(told[k] >> 32);
  }
  cudaFree(states);
}

int main(int argc, char** argv) {
  return exercise::run(argc, argv, [](exercise::Case& c) {
    const int n = static_cast<int>(c.size("n"));
    n > 0 ? scan_all(c, n) : one_tile(c, static_cast<int>(c.size("tile")));
  });
}
