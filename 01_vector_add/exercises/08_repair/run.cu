// Runs exercise 01/repair on one case.
#include "tools/exercise/runner.hpp"
#include EXERCISE_FILE

int main(int argc, char** argv) {
  return exercise::run(argc, argv, [](exercise::Case& c) {
    if (c.size("fails")) {
      // The copy back fails. (What it has left behind is read, or done() would find it.)
      const cudaError_t code =
          neighbours(c.host<float>("x"), nullptr, static_cast<int>(c.size("n")));
      c.host<int>("failed")[0] = code != cudaSuccess;
      cudaGetLastError();
      return;
    }
    const cudaError_t code =
        neighbours(c.host<float>("x"), c.host<float>("z"), static_cast<int>(c.size("n")));
    exercise::require(code, "neighbours");
  });
}
