// Runs exercise 02/point on one case.
#include "tools/exercise/runner.hpp"
#include EXERCISE_FILE

int main(int argc, char** argv) {
  return exercise::run(argc, argv, [](exercise::Case& c) {
    to_cartesian(c.device<float>("phi"), c.device<float2>("z"), static_cast<int>(c.size("n")));
  });
}
