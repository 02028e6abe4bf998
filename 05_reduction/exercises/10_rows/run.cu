// Runs exercise 05/rows on one case.
#include "tools/exercise/runner.hpp"
#include EXERCISE_FILE

int main(int argc, char** argv) {
  return exercise::run(argc, argv, [](exercise::Case& c) {
    sum_rows(c.device<float>("x"), c.device<int>("begin"), static_cast<int>(c.size("rows")),
             c.device<float>("sums"));
  });
}
