// Runs exercise 01/coarsen on one case.
#include "tools/exercise/runner.hpp"
#include EXERCISE_FILE

int main(int argc, char** argv) {
  return exercise::run(argc, argv, [](exercise::Case& c) {
    if (const auto shift = c.size("shift")) {
      float* const both = c.device<float>("x_and_y");
      float* const x = shift > 0 ? both : both - shift;
      return vector_add(x, x + shift, static_cast<int>(c.size("n")));
    }
    vector_add(c.device<float>("x"), c.device<float>("y"), static_cast<int>(c.size("n")));
  });
}
