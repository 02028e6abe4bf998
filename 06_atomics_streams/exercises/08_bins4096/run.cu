// Runs exercise 06/bins4096 on one case.
#include "tools/exercise/runner.hpp"
#include EXERCISE_FILE

int main(int argc, char** argv) {
  return exercise::run(argc, argv, [](exercise::Case& c) {
    histogram(c.device<int>("x"), c.device<unsigned>("bins"), static_cast<int>(c.size("n")));
  });
}
