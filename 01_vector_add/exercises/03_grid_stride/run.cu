// Runs exercise 01/grid_stride on one case.
#include "tools/exercise/runner.hpp"
#include EXERCISE_FILE

int main(int argc, char** argv) {
  return exercise::run(argc, argv, [](exercise::Case& c) {
    const int n = static_cast<int>(c.size("n")), grid = static_cast<int>(c.size("grid"));
    if (const auto shift = c.size("shift")) {
      float* const both = c.device<float>("x_and_y");
      return vector_add(both + shift, both, n, grid);
    }
    vector_add(c.device<float>("x"), c.device<float>("y"), n, grid);
  });
}
