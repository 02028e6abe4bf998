// Runs exercise 07/gradient on one case.
#include "tools/exercise/runner.hpp"
#include EXERCISE_FILE

int main(int argc, char** argv) {
  return exercise::run(argc, argv, [](exercise::Case& c) {
    gradient(c.device<float>("q"), c.device<float>("k"), c.device<float>("v"), c.device<float>("o"),
             c.device<float>("d_o"), c.device<float>("lse"), c.device<float>("mean"),
             c.device<float>("d_s"), static_cast<int>(c.size("n_q")),
             static_cast<int>(c.size("n_k")));
  });
}
