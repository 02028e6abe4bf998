// Runs exercise 05/variance on one case.

#include "tools/exercise/runner.hpp"
#include EXERCISE_FILE

int main(int argc, char** argv) {
  return exercise::run(argc, argv, [](exercise::Case& c) {
    variances(c.device<float>("x"), static_cast<int>(c.size("rows")),
              static_cast<int>(c.size("columns")), c.device<float>("mean"),
              c.device<float>("variance"), c.device<float>("largest"));
  });
}
