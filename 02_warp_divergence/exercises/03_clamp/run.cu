// Runs exercise 02/clamp on one case. The limits are an array of two elements.
#include "tools/exercise/runner.hpp"
#include EXERCISE_FILE

int main(int argc, char** argv) {
  return exercise::run(argc, argv, [](exercise::Case& c) {
    const float* limits = c.host<float>("limits");
    clamp(c.device<float>("x"), c.device<float>("y"), limits[0], limits[1],
          static_cast<int>(c.size("n")));
  });
}
