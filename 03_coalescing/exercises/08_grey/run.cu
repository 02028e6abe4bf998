// Runs exercise 03/grey on one case.
#include "tools/exercise/runner.hpp"
#include EXERCISE_FILE

int main(int argc, char** argv) {
  return exercise::run(argc, argv, [](exercise::Case& c) {
    to_grey(c.device<unsigned char>("rgb"), c.device<unsigned char>("grey"),
            static_cast<int>(c.size("n")));
  });
}
