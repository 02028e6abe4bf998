// Runs exercise 01/coarsen on one case.
#include "tools/exercise/runner.hpp"
#include EXERCISE_FILE

int main(int argc, char** argv) {
  return exercise::run(argc, argv, [](exercise::Case& c) {
    if (const auto shift = c.size("shift")) {
      float* const both = c.device<float>("both");
      return vector_add(both, both + shift, static_cast<int>(c.size("n")));
    }
    vector_add(c.device<float>("x"), c.device<float>("y"), static_cast<int>(c.size("n")));
  });
}
