// Runs exercise 06/append on one case, and sorts the list, whose order is free.
#include <algorithm>
#include <cmath>

#include "tools/exercise/runner.hpp"
#include EXERCISE_FILE

int main(int argc, char** argv) {
  return exercise::run(argc, argv, [](exercise::Case& c) {
    float* const list = c.device<float>("list");
    append(c.device<float>("x"), static_cast<int>(c.size("n")), *c.host<float>("limit"), list,
           c.device<int>("count"));
    c.done();
    std::vector<float> sorted(c.size("kept"));
    const std::size_t bytes = sorted.size() * sizeof(float);
    exercise::require(cudaMemcpy(sorted.data(), list, bytes, cudaMemcpyDeviceToHost), "append");
    std::sort(sorted.begin(), sorted.end(), [](float a, float b) {
      return std::isnan(a) ? false : std::isnan(b) || a < b;  // what was never written comes last
    });
    exercise::require(cudaMemcpy(list, sorted.data(), bytes, cudaMemcpyHostToDevice), "sort");
  });
}
