// Runs exercise 01/view on one case. The number a is an array of one element.
#include "tools/exercise/runner.hpp"
#include EXERCISE_FILE

int main(int argc, char** argv) {
  return exercise::run(argc, argv, [](exercise::Case& c) {
    const int pitch = static_cast<int>(c.size("pitch"));
    float* const to = c.device<float>("to") + c.size("row") * pitch + c.size("col");
    add_to_view(*c.host<float>("a"), c.device<float>("from"), to, static_cast<int>(c.size("rows")),
                static_cast<int>(c.size("cols")), pitch);
  });
}
