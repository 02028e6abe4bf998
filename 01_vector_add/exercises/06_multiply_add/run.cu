// Runs exercise 01/multiply_add on one case. The number a is an array of one element.
#include "tools/exercise/runner.hpp"
#include EXERCISE_FILE

int main(int argc, char** argv) {
  return exercise::run(argc, argv, [](exercise::Case& c) {
    multiply_add(*c.host<float>("a"), c.device<float>("x"), c.device<float>("y"),
                 c.device<float>("z"), static_cast<int>(c.size("n")));
  });
}
