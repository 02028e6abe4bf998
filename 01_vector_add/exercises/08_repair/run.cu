// Runs exercise 01/repair on one case.
#include "tools/exercise/runner.hpp"
#include EXERCISE_FILE

int main(int argc, char** argv) {
  return exercise::run(argc, argv, [](exercise::Case& c) {
    const cudaError_t code =
        neighbours(c.host<float>("x"), c.host<float>("z"), static_cast<int>(c.size("n")));
    exercise::require(code, "neighbours");
  });
}
