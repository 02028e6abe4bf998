// Runs exercise 06/aggregate on one case.
#include "tools/exercise/runner.hpp"
#include EXERCISE_FILE

int main(int argc, char** argv) {
  return exercise::run(argc, argv, [](exercise::Case& c) {
    sum(c.device<unsigned char>("x"), static_cast<int>(c.size("n")),
        c.device<unsigned long long>("total"));
  });
}
