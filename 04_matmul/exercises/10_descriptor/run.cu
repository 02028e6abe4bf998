// Runs exercise 04/descriptor on one case.
#include "tools/exercise/runner.hpp"
#include EXERCISE_FILE

int main(int argc, char** argv) {
  return exercise::run(argc, argv, [](exercise::Case& c) {
    multiply(c.device<float>("a"), c.device<float>("b"), c.device<float>("c"),
             static_cast<int>(c.size("m")));
  });
}
