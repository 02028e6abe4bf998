// Runs exercise 03/swizzle on one case; one without rows asks for the places alone.
#include "tools/exercise/runner.hpp"
#include EXERCISE_FILE

// How many different places have the elements of each row, and of each column?
__global__ void count_places(int* in_rows, int* in_columns) {
  const int i = threadIdx.x;
  unsigned of_row = 0, of_column = 0;
  for (int k = 0; k < 32; ++k) {
    const int in_row = place(i, k), in_column = place(k, i);
    if (in_row >= 0 && in_row < 32) of_row |= 1u << in_row;
    of_column |= 1u << (in_column & 31);
  }
  in_rows[i] = __popc(of_row);
  in_columns[i] = __popc(of_column);
}

int main(int argc, char** argv) {
  return exercise::run(argc, argv, [](exercise::Case& c) {
    const int rows = static_cast<int>(c.size("rows")), cols = static_cast<int>(c.size("cols"));
    if (rows == 0) {
      count_places<<<1, 32>>>(c.device<int>("places_in_row"), c.device<int>("banks_of_column"));
      return;
    }
    transpose(c.device<float>("a"), c.device<float>("b"), rows, cols);
  });
}
