// Runs exercise 02/repair on one case.
#include "tools/exercise/runner.hpp"
#include EXERCISE_FILE

int main(int argc, char** argv) {
  return exercise::run(argc, argv, [](exercise::Case& c) {
    reverse(c.device<float>("x"), c.device<float>("y"), c.device<int>("negatives"),
            static_cast<int>(c.size("n")));
  });
}
