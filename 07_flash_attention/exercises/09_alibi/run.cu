// Runs exercise 07/alibi on one case.
#include "tools/exercise/runner.hpp"
#include EXERCISE_FILE

int main(int argc, char** argv) {
  return exercise::run(argc, argv, [](exercise::Case& c) {
    attention(c.device<float>("q"), c.device<float>("k"), c.device<float>("v"),
              c.device<float>("slope"), c.device<float>("o"), static_cast<int>(c.size("heads")),
              static_cast<int>(c.size("n_q")), static_cast<int>(c.size("n_k")));
  });
}
