// Errors that leave the device usable. Faults, which do not, are in build.cpp: they end their own
// program.
#include <cooperative_groups.h>

#include <string>

#include "simt/tests/device_array.hpp"
#include "tests/catch.hpp"

__global__ void nothing() {}
__global__ void __launch_bounds__(128) bounded() {}
__global__ void static_40k(int* out) {
  __shared__ int big[10240];
  big[threadIdx.x] = 1;
  out[threadIdx.x] = big[threadIdx.x];
}
__global__ void use_dynamic(int* out) {
  extern __shared__ int big[];
  big[threadIdx.x] = 2;
  out[threadIdx.x] = big[threadIdx.x];
}

namespace {

cudaError_t launch(dim3 grid, dim3 block, size_t shared = 0) {
  nothing<<<grid, block, shared>>>();
  return cudaGetLastError();
}

}  // namespace

// As seen with CUDA 13.0 on an H200; CUDA 12 says cudaErrorInvalidConfiguration.
TEST_CASE("an invalid configuration is refused") {
  CHECK(launch(1, 1) == cudaSuccess);
  CHECK(launch(0, 1) == cudaErrorInvalidValue);
  CHECK(launch(1, 0) == cudaErrorInvalidValue);
  CHECK(launch(1, 1024) == cudaSuccess);
  CHECK(launch(1, 1025) == cudaErrorInvalidValue);
  CHECK(launch(1, dim3(32, 33)) == cudaErrorInvalidValue);
  CHECK(launch(1, dim3(1, 1, 64)) == cudaSuccess);
  CHECK(launch(1, dim3(1, 1, 65)) == cudaErrorInvalidValue);
  CHECK(launch(dim3(1, 65535), 1) == cudaSuccess);
  CHECK(launch(dim3(1, 65536), 1) == cudaErrorInvalidValue);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
}

TEST_CASE("launch bounds are kept") {
  bounded<<<1, 128>>>();
  CHECK(cudaGetLastError() == cudaSuccess);
  bounded<<<1, 129>>>();
  CHECK(cudaGetLastError() != cudaSuccess);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
}

TEST_CASE("shared memory beyond 48 KiB has to be asked for") {
  DeviceArray<int> out(32);
  use_dynamic<<<1, 32, 48 * 1024>>>(out.get());
  CHECK(cudaGetLastError() == cudaSuccess);
  use_dynamic<<<1, 32, 48 * 1024 + 4>>>(out.get());
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
  REQUIRE(cudaFuncSetAttribute(use_dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               227 * 1024) == cudaSuccess);
  use_dynamic<<<1, 32, 227 * 1024>>>(out.get());
  CHECK(cudaGetLastError() == cudaSuccess);
  CHECK(out.values()[31] == 2);
  CHECK(cudaFuncSetAttribute(use_dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             228 * 1024) == cudaErrorInvalidValue);
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
  static_40k<<<1, 32>>>(out.get());
  CHECK(out.values()[5] == 1);
}

TEST_CASE("the last error is kept until it is fetched") {
  CHECK(launch(1, 1) == cudaSuccess);
  nothing<<<0, 1>>>();
  CHECK(cudaPeekAtLastError() == cudaErrorInvalidValue);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(cudaPeekAtLastError() == cudaErrorInvalidValue);
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
  CHECK(cudaGetLastError() == cudaSuccess);
}

TEST_CASE("wrong pointers and directions are refused") {
  int host[4] = {};
  int *device = nullptr, *other = nullptr;
  REQUIRE(cudaMalloc(&device, 16) == cudaSuccess);
  REQUIRE(cudaMalloc(&other, 16) == cudaSuccess);
  CHECK(cudaMemcpy(device, host, 16, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);
  CHECK(cudaMemcpy(host, host, 16, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  CHECK(cudaMemcpy(device, other, 16, cudaMemcpyHostToDevice) ==
        cudaSuccess);  // CUDA goes by the address
  CHECK(cudaMemcpy(device, host, 20, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  CHECK(cudaMemcpy(device, host, 16, static_cast<cudaMemcpyKind>(9)) ==
        cudaErrorInvalidMemcpyDirection);
  CHECK(cudaMemset(host, 0, 16) == cudaErrorInvalidValue);
  CHECK(cudaMemset(device, 0, 17) == cudaErrorInvalidValue);
  CHECK(cudaMalloc(static_cast<void**>(nullptr), 4) == cudaErrorInvalidValue);
  CHECK(cudaFree(device) == cudaSuccess);
  CHECK(cudaFree(device) == cudaErrorInvalidValue);
  CHECK(cudaFree(other + 1) == cudaErrorInvalidValue);
  CHECK(cudaMemcpy(host, device, 16, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);
  CHECK(cudaFree(other) == cudaSuccess);
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
}

TEST_CASE("devices and handles that do not exist") {
  cudaDeviceProp properties;
  CHECK(cudaSetDevice(1) == cudaErrorInvalidDevice);
  CHECK(cudaGetDeviceProperties(&properties, 7) == cudaErrorInvalidDevice);
  CHECK(cudaEventRecord(nullptr) == cudaErrorInvalidResourceHandle);
  cudaStream_t stream;
  REQUIRE(cudaStreamCreate(&stream) == cudaSuccess);
  REQUIRE(cudaStreamDestroy(stream) == cudaSuccess);
  cudaEvent_t a, b;
  REQUIRE(cudaEventCreate(&a) == cudaSuccess);
  REQUIRE(cudaEventCreateWithFlags(&b, cudaEventDisableTiming) == cudaSuccess);
  float ms;
  CHECK(cudaEventElapsedTime(&ms, a, a) == cudaErrorInvalidResourceHandle);
  REQUIRE(cudaEventRecord(a) == cudaSuccess);
  REQUIRE(cudaEventRecord(b) == cudaSuccess);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(cudaEventElapsedTime(&ms, a, b) == cudaErrorInvalidResourceHandle);
  CHECK(cudaEventDestroy(a) == cudaSuccess);
  CHECK(cudaEventDestroy(b) == cudaSuccess);
  CHECK(cudaGetLastError() == cudaErrorInvalidResourceHandle);
}

TEST_CASE("errors have CUDA's names and texts") {
  CHECK(std::string(cudaGetErrorName(cudaErrorInvalidValue)) == "cudaErrorInvalidValue");
  CHECK(std::string(cudaGetErrorString(cudaErrorInvalidValue)) == "invalid argument");
  CHECK(std::string(cudaGetErrorString(cudaSuccess)) == "no error");
  CHECK(std::string(cudaGetErrorString(cudaErrorIllegalAddress)) ==
        "an illegal memory access was encountered");
  CHECK(std::string(cudaGetErrorString(static_cast<cudaError_t>(12345))) ==
        "unrecognized error code");
  CHECK(int(cudaErrorNotSupported) == 801);
}

__global__ void parent() { nothing<<<1, 1>>>(); }

// The launch fails, and the program may go on.
TEST_CASE("what only a GPU can do ends with cudaErrorNotSupported") {
  parent<<<1, 1>>>();
  CHECK(cudaDeviceSynchronize() == cudaErrorNotSupported);
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaArray_t layers;
  CHECK(cudaMalloc3DArray(&layers, &format, {4, 4, 2}, cudaArrayLayered) == cudaErrorNotSupported);
  CHECK(cudaGetLastError() == cudaErrorNotSupported);
  CHECK(cudaGetLastError() == cudaSuccess);
  DeviceArray<int> after(32);
  use_dynamic<<<1, 32, 128>>>(after.get());
  CHECK(after.values()[31] == 2);
}
