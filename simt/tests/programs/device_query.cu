// What devices are there?
#include <cstdio>

int main() {
  int deviceCount = 0;
  if (cudaGetDeviceCount(&deviceCount) != cudaSuccess) return 1;
  for (int dev = 0; dev < deviceCount; ++dev) {
    cudaSetDevice(dev);
    cudaDeviceProp deviceProp;
    cudaGetDeviceProperties(&deviceProp, dev);
    int driverVersion = 0, runtimeVersion = 0, clock = 0;
    cudaDriverGetVersion(&driverVersion);
    cudaRuntimeGetVersion(&runtimeVersion);
    cudaDeviceGetAttribute(&clock, cudaDevAttrClockRate, dev);
    printf("Device %d: \"%s\"\n", dev, deviceProp.name);
    printf("  CUDA Driver / Runtime          %d.%d / %d.%d\n", driverVersion / 1000,
           driverVersion % 100 / 10, runtimeVersion / 1000, runtimeVersion % 100 / 10);
    printf("  Capability                     %d.%d\n", deviceProp.major, deviceProp.minor);
    printf("  Global memory                  %.0f MBytes\n", deviceProp.totalGlobalMem / 1048576.0);
    printf("  Multiprocessors                %d\n", deviceProp.multiProcessorCount);
    printf("  GPU clock                      %d kHz\n", clock);
    printf("  L2 cache                       %d bytes\n", deviceProp.l2CacheSize);
    printf("  Shared memory per block        %zu bytes\n", deviceProp.sharedMemPerBlock);
    printf("  Registers per block            %d\n", deviceProp.regsPerBlock);
    printf("  Warp size                      %d\n", deviceProp.warpSize);
    printf("  Threads per block              %d\n", deviceProp.maxThreadsPerBlock);
    printf("  Max dimension of a block       (%d, %d, %d)\n", deviceProp.maxThreadsDim[0],
           deviceProp.maxThreadsDim[1], deviceProp.maxThreadsDim[2]);
    printf("  Max dimension of a grid        (%d, %d, %d)\n", deviceProp.maxGridSize[0],
           deviceProp.maxGridSize[1], deviceProp.maxGridSize[2]);
    printf("  Unified addressing             %s\n", deviceProp.unifiedAddressing ? "Yes" : "No");
    printf("  Cooperative launch             %s\n", deviceProp.cooperativeLaunch ? "Yes" : "No");
  }
  printf("ok\n");
  return 0;
}
