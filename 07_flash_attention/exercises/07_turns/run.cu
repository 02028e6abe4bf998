// Runs exercise 07/turns on one case.
#include "tools/exercise/runner.hpp"
#include EXERCISE_FILE

int main(int argc, char** argv) {
  return exercise::run(argc, argv, [](exercise::Case& c) {
    take_turns(c.device<float>("tile"), c.device<int>("log"), static_cast<int>(c.size("rounds")));
  });
}
