// Runs exercise 02/both on one case.
#include "tools/exercise/runner.hpp"
#include EXERCISE_FILE

int main(int argc, char** argv) {
  return exercise::run(argc, argv, [](exercise::Case& c) {
    to_cartesian(c.device<float>("phi"), c.device<float>("z"), static_cast<int>(c.size("n")));
  });
}
