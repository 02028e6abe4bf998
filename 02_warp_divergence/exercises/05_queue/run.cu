// Runs exercise 02/queue on one case; one that has `lanes` asks for the places of a single warp.
#include "tools/exercise/runner.hpp"
#include EXERCISE_FILE

__global__ void ask_for_places(unsigned lanes, int* end, int* places) {
  __shared__ int shared_end;
  if (threadIdx.x == 0) shared_end = *end;
  __syncwarp();
  const int place = place_in_queue(lanes, &shared_end);
  places[threadIdx.x] = lanes >> threadIdx.x & 1 ? place : -1;
  __syncwarp();
  if (threadIdx.x == 0) *end = shared_end;
}

int main(int argc, char** argv) {
  return exercise::run(argc, argv, [](exercise::Case& c) {
    if (const auto lanes = static_cast<unsigned>(c.size("lanes"))) {
      ask_for_places<<<1, 32>>>(lanes, c.device<int>("end"), c.device<int>("places"));
      return;
    }
    activate(c.device<float>("x"), c.device<float>("coefficients"), c.device<float>("y"),
             static_cast<int>(c.size("n")));
  });
}
