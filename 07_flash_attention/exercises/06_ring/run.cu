// Runs exercise 07/ring on one case.
#include "tools/exercise/runner.hpp"
#include EXERCISE_FILE

int main(int argc, char** argv) {
  return exercise::run(argc, argv, [](exercise::Case& c) {
    ring(c.device<float>("x"), c.device<float>("sums"), static_cast<int>(c.size("tiles")));
  });
}
