// Runs exercise 04/chunks on one case; one without k asks for the places alone.
#include "tools/exercise/runner.hpp"
#include EXERCISE_FILE

// How many of a row's 8 chunks does each row of the tile keep in the row itself, each in a place of
// its own?
__global__ void count_chunks(int* in_rows) {
  const int row = threadIdx.x;
  unsigned found = 0;
  for (int chunk = 0; chunk < 8; ++chunk) {
    const int at = place(row, 8 * chunk) - row * kTileK;
    if (at >= 0 && at < kTileK && at % 8 == 0) found |= 1u << at / 8;
  }
  in_rows[row] = __popc(found);
}

int main(int argc, char** argv) {
  return exercise::run(argc, argv, [](exercise::Case& c) {
    const int k = static_cast<int>(c.size("k"));
    if (k == 0) {
      count_chunks<<<1, 16>>>(c.device<int>("chunks_in_row"));
      return;
    }
    multiply(c.device<float>("a"), c.device<float>("b"), c.device<float>("c"), k);
  });
}
