// Runs exercise 05/argmax on one case.
#include "tools/exercise/runner.hpp"
#include EXERCISE_FILE

int main(int argc, char** argv) {
  return exercise::run(argc, argv, [](exercise::Case& c) {
    argmax(c.device<float>("x"), static_cast<int>(c.size("n")), c.device<float>("value"),
           c.device<int>("index"));
  });
}
