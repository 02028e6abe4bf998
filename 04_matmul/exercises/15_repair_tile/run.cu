// Runs exercise 04/repair_tile on one case.
#include "tools/exercise/runner.hpp"
#include EXERCISE_FILE

int main(int argc, char** argv) {
  return exercise::run(argc, argv, [](exercise::Case& c) {
    multiply(c.device<float>("a"), c.device<float>("b"), c.device<float>("c"),
             static_cast<int>(c.size("m")), static_cast<int>(c.size("n")),
             static_cast<int>(c.size("k")));
  });
}
