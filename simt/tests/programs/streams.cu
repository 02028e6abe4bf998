// Chunks of an array through several streams, from pinned memory.
#include <cstdio>
#include <cstdlib>

#define HANDLE_ERROR(err)                                                        \
  if ((err) != cudaSuccess) {                                                    \
    printf("%s in line %d\n", cudaGetErrorString(cudaGetLastError()), __LINE__); \
    exit(EXIT_FAILURE);                                                          \
  }

#define N (16 * 1024)
#define FULL_DATA_SIZE (N * 8)

__global__ void kernel(int* a, int* b, int* c) {
  int idx = threadIdx.x + blockIdx.x * blockDim.x;
  if (idx < N) c[idx] = (a[idx] + b[idx]) / 2;
}

int main(void) {
  cudaDeviceProp prop;
  int whichDevice;
  HANDLE_ERROR(cudaGetDevice(&whichDevice));
  HANDLE_ERROR(cudaGetDeviceProperties(&prop, whichDevice));
  if (prop.asyncEngineCount == 0) return 0;
  const int count = 2;
  cudaStream_t stream[count];
  int *host_a, *host_b, *host_c, *dev_a[count], *dev_b[count], *dev_c[count];
  HANDLE_ERROR(cudaHostAlloc((void**)&host_a, FULL_DATA_SIZE * sizeof(int), cudaHostAllocDefault));
  HANDLE_ERROR(cudaHostAlloc((void**)&host_b, FULL_DATA_SIZE * sizeof(int), cudaHostAllocDefault));
  HANDLE_ERROR(cudaHostAlloc((void**)&host_c, FULL_DATA_SIZE * sizeof(int), cudaHostAllocDefault));
  for (int s = 0; s < count; ++s) {
    HANDLE_ERROR(cudaStreamCreate(&stream[s]));
    HANDLE_ERROR(cudaMalloc((void**)&dev_a[s], N * sizeof(int)));
    HANDLE_ERROR(cudaMalloc((void**)&dev_b[s], N * sizeof(int)));
    HANDLE_ERROR(cudaMalloc((void**)&dev_c[s], N * sizeof(int)));
  }
  for (int i = 0; i < FULL_DATA_SIZE; i++) {
    host_a[i] = i;
    host_b[i] = 3 * i;
  }
  for (int i = 0; i < FULL_DATA_SIZE; i += N * count) {
    for (int s = 0; s < count; ++s) {
      HANDLE_ERROR(cudaMemcpyAsync(dev_a[s], host_a + i + s * N, N * sizeof(int),
                                   cudaMemcpyHostToDevice, stream[s]));
      HANDLE_ERROR(cudaMemcpyAsync(dev_b[s], host_b + i + s * N, N * sizeof(int),
                                   cudaMemcpyHostToDevice, stream[s]));
    }
    for (int s = 0; s < count; ++s)
      kernel<<<N / 256, 256, 0, stream[s]>>>(dev_a[s], dev_b[s], dev_c[s]);
    for (int s = 0; s < count; ++s)
      HANDLE_ERROR(cudaMemcpyAsync(host_c + i + s * N, dev_c[s], N * sizeof(int),
                                   cudaMemcpyDeviceToHost, stream[s]));
  }
  for (int s = 0; s < count; ++s) {
    HANDLE_ERROR(cudaStreamSynchronize(stream[s]));
    HANDLE_ERROR(cudaStreamDestroy(stream[s]));
  }
  for (int i = 0; i < FULL_DATA_SIZE; i++)
    if (host_c[i] != 2 * i) return 1;
  HANDLE_ERROR(cudaFreeHost(host_a));
  printf("ok\n");
  return 0;
}
