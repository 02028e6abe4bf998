// Runs exercise 07/grouped on one case.
#include "tools/exercise/runner.hpp"
#include EXERCISE_FILE

int main(int argc, char** argv) {
  return exercise::run(argc, argv, [](exercise::Case& c) {
    decode(c.device<float>("q"), c.device<float>("k"), c.device<float>("v"), c.device<float>("o"),
           static_cast<int>(c.size("kv_heads")), static_cast<int>(c.size("n")));
  });
}
