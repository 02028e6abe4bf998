// Runs exercise 05/sweep on one case.
#include "tools/exercise/runner.hpp"
#include EXERCISE_FILE

int main(int argc, char** argv) {
  return exercise::run(argc, argv, [](exercise::Case& c) {
    scan_tiles(c.device<float>("x"), c.device<float>("y"), static_cast<int>(c.size("n")));
  });
}
