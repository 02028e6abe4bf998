// Threads that leave before a barrier: the rules forbid it, a GPU and simt let the others go on.
#include <cstdio>

__global__ void early_exit(int* out) {
  if (threadIdx.x >= 40) return;
  out[threadIdx.x] = 1;
  __syncthreads();
  if (threadIdx.x == 0) out[0] = out[39] + 1;
}

int main() {
  int *out, first = 0;
  cudaMalloc(&out, 40 * sizeof(int));
  early_exit<<<1, 64>>>(out);
  cudaMemcpy(&first, out, sizeof first, cudaMemcpyDeviceToHost);
  if (first != 2) return 1;
  printf("ok\n");
  return 0;
}
