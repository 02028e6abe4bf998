// Runs exercise 03/scale_rows on one case.
#include "tools/exercise/runner.hpp"
#include EXERCISE_FILE

int main(int argc, char** argv) {
  return exercise::run(argc, argv, [](exercise::Case& c) {
    scale_rows(c.device<float>("s"), c.device<float>("a"), static_cast<int>(c.size("rows")),
               static_cast<int>(c.size("cols")));
  });
}
