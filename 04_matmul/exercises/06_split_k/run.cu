// Runs exercise 04/split_k on one case.
#include "tools/exercise/runner.hpp"
#include EXERCISE_FILE

int main(int argc, char** argv) {
  return exercise::run(argc, argv, [](exercise::Case& c) {
    multiply(c.device<float>("a"), c.device<float>("b"), c.device<float>("c"),
             c.device<float>("sums"), static_cast<int>(c.size("m")), static_cast<int>(c.size("n")),
             static_cast<int>(c.size("k")), static_cast<int>(c.size("parts")));
  });
}
