// Runs exercise 06/lock on one case.
#include "tools/exercise/runner.hpp"
#include EXERCISE_FILE

int main(int argc, char** argv) {
  return exercise::run(argc, argv, [](exercise::Case& c) {
    const int n = static_cast<int>(c.size("n"));
    unsigned* lock = nullptr;
    Record *record = nullptr, found = {-INFINITY, n};
    exercise::require(cudaMalloc(&lock, sizeof(*lock)), "cudaMalloc");
    exercise::require(cudaMemset(lock, 0, sizeof(*lock)), "cudaMemset");
    exercise::require(cudaMalloc(&record, sizeof(*record)), "cudaMalloc");
    exercise::require(cudaMemcpy(record, &found, sizeof(found), cudaMemcpyHostToDevice), "copy");
    largest(c.device<float>("x"), n, lock, record);
    exercise::require(cudaMemcpy(&found, record, sizeof(found), cudaMemcpyDeviceToHost), "largest");
    *c.host<float>("value") = found.value;
    *c.host<int>("index") = found.index;
  });
}
