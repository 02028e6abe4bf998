// Runs exercise 07/merge on one case.
#include "tools/exercise/runner.hpp"
#include EXERCISE_FILE

int main(int argc, char** argv) {
  return exercise::run(argc, argv, [](exercise::Case& c) {
    merge(c.device<float>("o_a"), c.device<float>("lse_a"), c.device<float>("o_b"),
          c.device<float>("lse_b"), c.device<float>("o"), c.device<float>("lse"),
          static_cast<int>(c.size("rows")), static_cast<int>(c.size("d")));
  });
}
