// Runs exercise 06/flag_scope on one case: a kernel on each of two GPUs, at the same time.
#include "tools/exercise/runner.hpp"
#include EXERCISE_FILE

template <class T>
T* zeros(int count) {
  T* made = nullptr;
  exercise::require(cudaMalloc(&made, count * sizeof(T)), "cudaMalloc");
  exercise::require(cudaMemset(made, 0, count * sizeof(T)), "cudaMemset");
  exercise::require(cudaDeviceSynchronize(), "cudaMemset");
  return made;
}

int main(int argc, char** argv) {
  return exercise::run(argc, argv, [](exercise::Case& c) {
    const int n = static_cast<int>(c.size("n"));
    const int round = kBlocks * kThreads;
    const unsigned rounds = (n + round - 1) / round;
    exercise::require(cudaSetDevice(0), "the first GPU");
    exercise::require(cudaDeviceEnablePeerAccess(1, 0), "access to the second GPU");
    const float* const x = c.device<float>("x");
    unsigned* const taken = zeros<unsigned>(kBlocks);
    exercise::require(cudaSetDevice(1), "the second GPU");
    exercise::require(cudaDeviceEnablePeerAccess(0, 0), "access to the first GPU");
    float* const y = c.device<float>("y");
    float* const inbox = zeros<float>(round);
    unsigned* const arrived = zeros<unsigned>(kBlocks);
    receive_kernel<<<kBlocks, kThreads>>>(inbox, n, rounds, arrived, taken, y);
    exercise::require(cudaSetDevice(0), "the first GPU");
    send_kernel<<<kBlocks, kThreads>>>(x, n, rounds, inbox, arrived, taken);
    exercise::require(cudaDeviceSynchronize(), "send_kernel");
    exercise::require(cudaSetDevice(1), "the second GPU");
    exercise::require(cudaDeviceSynchronize(), "receive_kernel");
  });
}
