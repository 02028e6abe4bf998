// Occupancy, device properties, kernel attributes.
#include <cstring>
#include <string>

#include "tests/catch.hpp"

__global__ void plain(int* out) { out[threadIdx.x] = 1; }
__global__ void with_shared(int* out) {
  __shared__ int tile[32 * 1024 / 4];
  tile[threadIdx.x] = 1;
  out[threadIdx.x] = tile[threadIdx.x];
}
__global__ void __launch_bounds__(256) bounded(int* out) { out[threadIdx.x] = 1; }
template <int N>
__global__ void with_tile(float* out) {
  __shared__ float tile[N];
  tile[threadIdx.x] = 0;
  out[threadIdx.x] = tile[threadIdx.x];
}

namespace {

template <class Kernel>
int blocks_of(Kernel kernel, int block_size, size_t shared = 0) {
  int blocks = -1;
  REQUIRE(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, block_size, shared) ==
          cudaSuccess);
  return blocks;
}

}  // namespace

// The model GPU: 2048 threads, 32 blocks, 228 KiB of shared memory on each of 132 multiprocessors.
TEST_CASE("the scarcest resource decides how many blocks are resident") {
  CHECK(blocks_of(plain, 256) == 8);  // threads
  CHECK(blocks_of(plain, 1024) == 2);
  CHECK(blocks_of(plain, 700) == 2);  // 22 warps each: 44 of 64, 68.75 %
  CHECK(blocks_of(plain, 32) == 32);  // blocks
  CHECK(blocks_of(plain, 33) == 32);
  CHECK(blocks_of(plain, 128, 40 * 1024) == 5);  // shared memory: (40 + 1) KiB each
  CHECK(blocks_of(plain, 128, 120 * 1024) == 1);
  CHECK(blocks_of(with_shared, 128) == 6);  // (32 + 1) KiB each
  CHECK(blocks_of(bounded, 257) == 7);      // launch bounds do not count here
  CHECK(blocks_of(plain, 1025) == 0);
}

TEST_CASE("the form with flags counts the same") {
  int blocks = -1;
  REQUIRE(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, plain, 256, 0, 0) ==
          cudaSuccess);
  CHECK(blocks == blocks_of(plain, 256));
}

TEST_CASE("the block size that fills a multiprocessor") {
  int grid = 0, block = 0;
  REQUIRE(cudaOccupancyMaxPotentialBlockSize(&grid, &block, plain, 0, 0) == cudaSuccess);
  CHECK(block == 1024);
  CHECK(grid == 2 * 132);
  REQUIRE(cudaOccupancyMaxPotentialBlockSize(&grid, &block, bounded) == cudaSuccess);
  CHECK(block == 256);
  CHECK(grid == 8 * 132);
  auto shared = [](int threads) { return size_t(threads) * 100; };
  REQUIRE(cudaOccupancyMaxPotentialBlockSizeVariableSMem(&grid, &block, plain, shared) ==
          cudaSuccess);
  CHECK(block * (grid / 132) * 100 <= 228 * 1024);
  CHECK(block * (grid / 132) >= 1536);
  size_t bytes = 0;
  REQUIRE(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, plain, 2, 256) == cudaSuccess);
  CHECK(bytes == 48 * 1024);  // what is allowed without asking for more
  REQUIRE(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, plain, 8, 256) == cudaSuccess);
  CHECK(bytes == 228 * 1024 / 8 - 1024);
}

TEST_CASE("clusters of up to 8 blocks, whichever way the kernel is named; of 16, once allowed") {
  cudaLaunchAttribute four;
  four.id = cudaLaunchAttributeClusterDimension;
  four.val.clusterDim = {4, 1, 1};
  cudaLaunchConfig_t config = {};
  config.gridDim = 8;
  config.blockDim = 1024;
  config.attrs = &four;
  config.numAttrs = 1;
  for (int way = 0; way < 2; ++way) {
    int most = -1, size = -1;
    const cudaError_t resident =
        way == 0 ? cudaOccupancyMaxActiveClusters(&most, plain, &config)
                 : cudaOccupancyMaxActiveClusters(&most, (const void*)plain, &config);
    CHECK(resident == cudaSuccess);
    CHECK(most == 2 * 132 / 4);
    const cudaError_t largest =
        way == 0 ? cudaOccupancyMaxPotentialClusterSize(&size, plain, &config)
                 : cudaOccupancyMaxPotentialClusterSize(&size, (const void*)plain, &config);
    CHECK(largest == cudaSuccess);
    CHECK(size == 8);
  }
  int size = -1;
  CHECK(cudaFuncSetAttribute(bounded, cudaFuncAttributeNonPortableClusterSizeAllowed, 1) ==
        cudaSuccess);
  CHECK(cudaOccupancyMaxPotentialClusterSize(&size, bounded, &config) == cudaSuccess);
  CHECK(size == 16);
  int most = 7;
  CHECK(cudaOccupancyMaxActiveClusters(&most, plain, nullptr) == cudaErrorInvalidValue);
  CHECK(cudaOccupancyMaxActiveClusters(nullptr, plain, &config) == cudaErrorInvalidValue);
  CHECK(cudaOccupancyMaxActiveClusters(&most, static_cast<const void*>(&most), &config) ==
        cudaErrorInvalidResourceHandle);
  CHECK(most == 7);
  cudaGetLastError();
}

TEST_CASE("kernels know their static shared memory before they run") {
  cudaFuncAttributes attributes;
  REQUIRE(cudaFuncGetAttributes(&attributes, with_shared) == cudaSuccess);
  CHECK(attributes.sharedSizeBytes == 32 * 1024);
  CHECK(attributes.maxThreadsPerBlock == 1024);
  REQUIRE(cudaFuncGetAttributes(&attributes, bounded) == cudaSuccess);
  CHECK(attributes.sharedSizeBytes == 0);
  CHECK(attributes.maxThreadsPerBlock == 256);
  REQUIRE(cudaFuncGetAttributes(&attributes, (const void*)with_tile<100>) == cudaSuccess);
  CHECK(attributes.sharedSizeBytes == 400);
  REQUIRE(cudaFuncGetAttributes(&attributes, with_tile<1000>) == cudaSuccess);
  CHECK(attributes.sharedSizeBytes == 4000);
  REQUIRE(cudaFuncSetAttribute((void*)plain, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               64 * 1024) == cudaSuccess);
  REQUIRE(cudaFuncGetAttributes(&attributes, plain) == cudaSuccess);
  CHECK(attributes.maxDynamicSharedSizeBytes == 64 * 1024);
  int not_a_kernel;
  CHECK(cudaFuncGetAttributes(&attributes, static_cast<const void*>(&not_a_kernel)) ==
        cudaErrorInvalidResourceHandle);
  cudaGetLastError();
}

TEST_CASE("the model GPU describes itself") {
  cudaDeviceProp p;
  REQUIRE(cudaGetDeviceProperties(&p, 0) == cudaSuccess);
  CHECK(std::string(p.name) == "simt model GPU (CPU)");
  CHECK(p.major * 10 + p.minor == 90);
  CHECK(p.warpSize == 32);
  CHECK(p.totalGlobalMem > 0);
  int value = -1, count = 0;
  REQUIRE(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0) == cudaSuccess);
  CHECK(value == p.multiProcessorCount);
  REQUIRE(cudaDeviceGetAttribute(&value, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0) ==
          cudaSuccess);
  CHECK(size_t(value) == p.sharedMemPerBlockOptin);
  REQUIRE(cudaDeviceGetAttribute(&value, cudaDevAttrMemoryClockRate, 0) == cudaSuccess);
  CHECK(value == 0);  // time is not modelled
  REQUIRE(cudaGetDeviceCount(&count) == cudaSuccess);
  CHECK(count == 1);
  int version = 0;
  REQUIRE(cudaRuntimeGetVersion(&version) == cudaSuccess);
  CHECK(version == CUDART_VERSION);
}
