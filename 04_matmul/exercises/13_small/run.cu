// Runs exercise 04/small on one case.
#include "tools/exercise/runner.hpp"
#include EXERCISE_FILE

int main(int argc, char** argv) {
  return exercise::run(argc, argv, [](exercise::Case& c) {
    multiply_all(c.device<float>("a"), c.device<float>("b"), c.device<float>("c"),
                 static_cast<int>(c.size("count")), static_cast<int>(c.size("s")));
  });
}
