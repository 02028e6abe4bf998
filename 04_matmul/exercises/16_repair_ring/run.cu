// Runs exercise 04/repair_ring on one case.
#include "tools/exercise/runner.hpp"
#include EXERCISE_FILE

int main(int argc, char** argv) {
  return exercise::run(argc, argv, [](exercise::Case& c) {
    column_sums(c.device<float>("x"), c.device<float>("sums"), static_cast<int>(c.size("rows")),
                static_cast<int>(c.size("cols")));
  });
}
