// Runs exercise 03/fields on one case. The number dt is an array of one element.
#include "tools/exercise/runner.hpp"
#include EXERCISE_FILE

int main(int argc, char** argv) {
  return exercise::run(argc, argv, [](exercise::Case& c) {
    advance(c.device<float>("fields"), static_cast<int>(c.size("pitch")),
            static_cast<int>(c.size("n")), *c.host<float>("dt"));
  });
}
