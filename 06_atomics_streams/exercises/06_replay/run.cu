// Runs exercise 06/replay on one case.
#include "tools/exercise/runner.hpp"

// What run_chain does: executables that it makes, launches of them into any other stream, and
// kernels recorded in another stream than the first one: the graph may run these at the same time.
// No student's file may have a word that begins like this, so none changes what is kept here.
namespace exercise_replay {
struct Seen {
  cudaStream_t stream, first;
  int executables, elsewhere;
};
inline Seen seen{};
inline cudaError_t launch(cudaGraphExec_t executable, cudaStream_t into) {
  seen.elsewhere += into != seen.stream;
  return cudaGraphLaunch(executable, into);
}
inline cudaError_t instantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                               unsigned long long flags = 0) {
  ++seen.executables;
  return cudaGraphInstantiateWithFlags(executable, graph, flags);
}
inline cudaError_t instantiate(cudaGraphExec_t* executable, cudaGraph_t graph, cudaGraphNode_t*,
                               char*, std::size_t) {
  return instantiate(executable, graph);
}
}  // namespace exercise_replay
#define cudaGraphLaunch exercise_replay::launch
#define cudaGraphInstantiate exercise_replay::instantiate
#define cudaGraphInstantiateWithFlags exercise_replay::instantiate
#include EXERCISE_FILE

// The steps do not commute: another order gives another result.
__global__ void step_kernel(unsigned* x, int n, unsigned k) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = (x[i] ^ k) * 5 + k;
}

int main(int argc, char** argv) {
  return exercise::run(argc, argv, [](exercise::Case& c) {
    const int n = static_cast<int>(c.size("n"));
    unsigned* const x = c.device<unsigned>("x");
    int& calls = c.host<int>("calls")[0] = 0;
    cudaStream_t stream = nullptr;
    exercise::require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
    exercise_replay::Seen& seen = exercise_replay::seen;
    seen.stream = stream;
    const auto step = [&](int k, cudaStream_t into) {
      if (calls++ == 0) seen.first = into;
      seen.elsewhere += into != seen.first;
      step_kernel<<<(n + 63) / 64, 64, 0, into>>>(x, n, static_cast<unsigned>(k));
    };
    run_chain(step, static_cast<int>(c.size("kernels")), static_cast<int>(c.size("times")), stream);
    c.host<int>("executables_too_many")[0] = seen.executables > 1 ? seen.executables - 1 : 0;
    c.host<int>("launches_elsewhere")[0] = seen.elsewhere;
    exercise::require(cudaGetLastError(), "a call of run_chain failed");
    exercise::require(cudaStreamSynchronize(stream), "a kernel failed");
    cudaStreamDestroy(stream);
  });
}
