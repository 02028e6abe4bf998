// Two blocks of a launch, which run at the same time, meet what only a GPU has, one
// some milliseconds after the other. Prints what the runtime says: one error, once.
#include <cstdio>

__global__ void child() {}
__global__ void parent(unsigned* begun, unsigned* out) {
  unsigned random = 1;
  if (blockIdx.x == 1) {
    atomicExch(begun, 1);
    for (int step = 0; step < 20000000; ++step) random = 1664525 * random + 1013904223;
  } else {
    while (atomicAdd(begun, 0) == 0) {
    }
  }
  out[blockIdx.x] = random;
  child<<<1, 1>>>();
}

static void say(const char* what, cudaError_t e) { printf("%s: %s\n", what, cudaGetErrorName(e)); }

int main() {
  unsigned* data;
  cudaMalloc(&data, 3 * sizeof(unsigned));
  cudaMemset(data, 0, 3 * sizeof(unsigned));
  parent<<<2, 1>>>(data, data + 1);
  cudaError_t first = cudaSuccess;
  while (first == cudaSuccess) first = cudaGetLastError();  // as soon as one block has met it
  say("last", first);
  say("synchronize", cudaDeviceSynchronize());
  say("free", cudaFree(data));
  return 0;
}
