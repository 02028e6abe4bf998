// Runs exercise 03/padding on one case.
#include "tools/exercise/runner.hpp"
#include EXERCISE_FILE

int main(int argc, char** argv) {
  return exercise::run(argc, argv, [](exercise::Case& c) {
    transpose(c.device<float>("a"), c.device<float>("b"), static_cast<int>(c.size("rows")),
              static_cast<int>(c.size("cols")));
  });
}
