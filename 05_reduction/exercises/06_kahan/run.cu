// Runs exercise 05/kahan on one case.
#include "tools/exercise/runner.hpp"
#include EXERCISE_FILE

int main(int argc, char** argv) {
  return exercise::run(argc, argv, [](exercise::Case& c) {
    strided_sums(c.device<float>("x"), c.device<float>("sums"), static_cast<int>(c.size("n")),
                 static_cast<int>(c.size("stride")));
  });
}
