// Memory: allocation, copies, fills, pitched, managed and pinned memory, what pointers are.
#include <cstring>
#include <vector>

#include "simt/tests/device_array.hpp"
#include "tests/catch.hpp"

namespace {

// Reads device memory back.
template <class T>
std::vector<T> fetch(const T* from, std::size_t count) {
  std::vector<T> host(count);
  REQUIRE(cudaMemcpy(host.data(), from, count * sizeof(T), cudaMemcpyDeviceToHost) == cudaSuccess);
  return host;
}

}  // namespace

TEST_CASE("copies go in all directions") {
  std::vector<int> host(1000);
  for (int i = 0; i < 1000; ++i) host[i] = i;
  int *a = nullptr, *b = nullptr;
  REQUIRE(cudaMalloc(&a, 4000) == cudaSuccess);
  REQUIRE(cudaMalloc((void**)&b, 4000) == cudaSuccess);
  REQUIRE(cudaMemcpy(a, host.data(), 4000, cudaMemcpyHostToDevice) == cudaSuccess);
  REQUIRE(cudaMemcpy(b, a, 4000, cudaMemcpyDeviceToDevice) == cudaSuccess);
  CHECK(fetch(b, 1000) == host);
  REQUIRE(cudaMemset(b, 0x12, 4000) == cudaSuccess);
  CHECK(fetch(b, 1000)[999] == 0x12121212);
  REQUIRE(cudaMemcpy(b + 10, host.data() + 20, 40, cudaMemcpyDefault) == cudaSuccess);
  CHECK(fetch(b, 1000)[10] == 20);
  REQUIRE(cudaMemcpyAsync(b, a, 4000, cudaMemcpyDefault) == cudaSuccess);
  CHECK(fetch(b, 1000) == host);
  CHECK(cudaFree(a) == cudaSuccess);
  CHECK(cudaFree(b) == cudaSuccess);
  CHECK(cudaFree(nullptr) == cudaSuccess);
}

TEST_CASE("allocations are aligned, apart, and counted") {
  size_t free_before = 0, total = 0, free_after = 0;
  REQUIRE(cudaMemGetInfo(&free_before, &total) == cudaSuccess);
  void *a = nullptr, *b = nullptr;
  REQUIRE(cudaMalloc(&a, 1) == cudaSuccess);
  REQUIRE(cudaMalloc(&b, 1000) == cudaSuccess);
  CHECK(reinterpret_cast<size_t>(a) % 256 == 0);
  CHECK(reinterpret_cast<size_t>(b) % 256 == 0);
  CHECK(a != b);
  REQUIRE(cudaMemGetInfo(&free_after, &total) == cudaSuccess);
  CHECK(free_after <= free_before - 1001);
  CHECK(cudaFree(a) == cudaSuccess);
  CHECK(cudaFree(b) == cudaSuccess);
  void* nothing = &a;
  CHECK(cudaMalloc(&nothing, 0) == cudaSuccess);
  CHECK(nothing == nullptr);
  CHECK(cudaMalloc(&nothing, total + 1) == cudaErrorMemoryAllocation);
  CHECK(cudaGetLastError() == cudaErrorMemoryAllocation);
  CHECK(cudaGetLastError() == cudaSuccess);
}

TEST_CASE("many allocations come and go") {
  std::vector<void*> pointers(500);
  for (int round = 0; round < 4; ++round) {
    for (auto& p : pointers) REQUIRE(cudaMalloc(&p, 100 + round) == cudaSuccess);
    for (auto& p : pointers) REQUIRE(cudaFree(p) == cudaSuccess);
  }
}

__global__ void number_elements(float* first, size_t pitch, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  auto* row = reinterpret_cast<float*>(reinterpret_cast<char*>(first) + y * pitch);
  row[x] = y * 1000.0f + x;
}

TEST_CASE("pitched memory and two-dimensional copies") {
  const int width = 37, height = 5;
  float* pitched = nullptr;
  size_t pitch = 0;
  REQUIRE(cudaMallocPitch(&pitched, &pitch, width * sizeof(float), height) == cudaSuccess);
  CHECK(pitch >= width * sizeof(float));
  CHECK(pitch % 512 == 0);
  number_elements<<<dim3(3, 1), dim3(16, 8)>>>(pitched, pitch, width, height);
  std::vector<float> host(width * height);
  REQUIRE(cudaMemcpy2D(host.data(), width * sizeof(float), pitched, pitch, width * sizeof(float),
                       height, cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK(host[0] == 0);
  CHECK(host[4 * width + 36] == 4036);
  REQUIRE(cudaMemset2D(pitched, pitch, 0, 8, 2) == cudaSuccess);
  REQUIRE(cudaMemcpy2D(host.data(), width * sizeof(float), pitched, pitch, width * sizeof(float),
                       height, cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK(host[width + 1] == 0);
  CHECK(host[width + 2] == 1002);
  CHECK(cudaMemcpy2D(host.data(), 8, pitched, pitch, 16, 2, cudaMemcpyDeviceToHost) ==
        cudaErrorInvalidPitchValue);
  cudaGetLastError();
  CHECK(cudaFree(pitched) == cudaSuccess);
}

TEST_CASE("three-dimensional copies") {
  cudaPitchedPtr volume{};
  REQUIRE(cudaMalloc3D(&volume, make_cudaExtent(12, 3, 2)) == cudaSuccess);
  std::vector<char> host(12 * 3 * 2), back(host.size());
  for (size_t i = 0; i < host.size(); ++i) host[i] = static_cast<char>(i);
  cudaMemcpy3DParms p{};
  p.srcPtr = make_cudaPitchedPtr(host.data(), 12, 12, 3);
  p.dstPtr = volume;
  p.extent = make_cudaExtent(12, 3, 2);
  p.kind = cudaMemcpyHostToDevice;
  REQUIRE(cudaMemcpy3D(&p) == cudaSuccess);
  p.srcPtr = volume;
  p.dstPtr = make_cudaPitchedPtr(back.data(), 12, 12, 3);
  p.kind = cudaMemcpyDeviceToHost;
  REQUIRE(cudaMemcpy3D(&p) == cudaSuccess);
  CHECK(back == host);
  cudaFree(volume.ptr);
}

__global__ void add_one(int* data, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] += 1;
}

TEST_CASE("managed memory is seen by both sides") {
  int* data = nullptr;
  REQUIRE(cudaMallocManaged(&data, 400) == cudaSuccess);
  for (int i = 0; i < 100; ++i) data[i] = i;
  cudaMemLocation gpu{cudaMemLocationTypeDevice, 0}, cpu{cudaMemLocationTypeHost, 0};
  CHECK(cudaMemAdvise(data, 400, cudaMemAdviseSetReadMostly, gpu) == cudaSuccess);
  CHECK(cudaMemAdvise(data, 400, cudaMemAdviseSetPreferredLocation, gpu) == cudaSuccess);
  CHECK(cudaMemPrefetchAsync(data, 400, gpu, 0) == cudaSuccess);
  add_one<<<1, 128>>>(data, 100);
  CHECK(cudaMemPrefetchAsync(data, 400, cpu, 0, 0) == cudaSuccess);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(data[99] == 100);
  cudaMemLocation elsewhere{cudaMemLocationTypeDevice, 3};
  CHECK(cudaMemPrefetchAsync(data, 400, elsewhere, 0) == cudaErrorInvalidDevice);
  int on_stack;
  CHECK(cudaMemPrefetchAsync(&on_stack, 4, gpu, 0) == cudaErrorInvalidValue);
  cudaGetLastError();
  CHECK(cudaFree(data) == cudaSuccess);
}

TEST_CASE("pinned memory") {
  int *pinned = nullptr, *mapped = nullptr, *device_view = nullptr;
  REQUIRE(cudaMallocHost(&pinned, 400) == cudaSuccess);
  REQUIRE(cudaHostAlloc(&mapped, 400, cudaHostAllocMapped) == cudaSuccess);
  REQUIRE(cudaHostGetDevicePointer(&device_view, mapped, 0) == cudaSuccess);
  for (int i = 0; i < 100; ++i) mapped[i] = i;
  add_one<<<1, 128>>>(device_view, 100);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(mapped[7] == 8);
  CHECK(cudaFreeHost(pinned) == cudaSuccess);
  CHECK(cudaFreeHost(mapped) == cudaSuccess);
  std::vector<int> ordinary(100, 1);
  REQUIRE(cudaHostRegister(ordinary.data(), 400, cudaHostRegisterDefault) == cudaSuccess);
  CHECK(cudaHostRegister(ordinary.data(), 400, 0) == cudaErrorHostMemoryAlreadyRegistered);
  CHECK(cudaHostUnregister(ordinary.data()) == cudaSuccess);
  CHECK(cudaHostUnregister(ordinary.data()) == cudaErrorHostMemoryNotRegistered);
  CHECK(cudaGetLastError() == cudaErrorHostMemoryNotRegistered);
}

__device__ int device_variable[4];

TEST_CASE("cudaPointerGetAttributes tells where memory is") {
  int* device = nullptr;
  int *managed = nullptr, *pinned = nullptr, on_stack = 0;
  REQUIRE(cudaMalloc(&device, 64) == cudaSuccess);
  REQUIRE(cudaMallocManaged(&managed, 64) == cudaSuccess);
  REQUIRE(cudaMallocHost(&pinned, 64) == cudaSuccess);
  cudaPointerAttributes a{};
  auto type = [&](const void* p) {
    REQUIRE(cudaPointerGetAttributes(&a, p) == cudaSuccess);
    return a.type;
  };
  CHECK(type(device + 5) == cudaMemoryTypeDevice);
  CHECK(a.devicePointer == device + 5);
  CHECK(a.hostPointer == nullptr);
  CHECK(type(managed) == cudaMemoryTypeManaged);
  CHECK(type(pinned) == cudaMemoryTypeHost);
  CHECK(type(&on_stack) == cudaMemoryTypeUnregistered);
  void* symbol = nullptr;
  REQUIRE(cudaGetSymbolAddress(&symbol, device_variable) == cudaSuccess);
  CHECK(type(symbol) == cudaMemoryTypeDevice);
  cudaFree(device);
  CHECK(type(device) == cudaMemoryTypeUnregistered);
  cudaFree(managed);
  cudaFreeHost(pinned);
}

TEST_CASE("stream-ordered allocation") {
  cudaStream_t stream;
  REQUIRE(cudaStreamCreate(&stream) == cudaSuccess);
  int* data = nullptr;
  REQUIRE(cudaMallocAsync(&data, 400, stream) == cudaSuccess);
  REQUIRE(cudaMemsetAsync(data, 0, 400, stream) == cudaSuccess);
  add_one<<<1, 128, 0, stream>>>(data, 100);
  std::vector<int> host(100);
  REQUIRE(cudaMemcpyAsync(host.data(), data, 400, cudaMemcpyDeviceToHost, stream) == cudaSuccess);
  REQUIRE(cudaFreeAsync(data, stream) == cudaSuccess);
  REQUIRE(cudaStreamSynchronize(stream) == cudaSuccess);
  CHECK(host[99] == 1);
  cudaMemPool_t pool;
  unsigned long long threshold = 1 << 20, read_back = 0;
  REQUIRE(cudaDeviceGetDefaultMemPool(&pool, 0) == cudaSuccess);
  CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold) == cudaSuccess);
  CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &read_back) == cudaSuccess);
  CHECK(read_back == threshold);
  CHECK(cudaStreamDestroy(stream) == cudaSuccess);
}

TEST_CASE("fresh managed memory holds zeros") {
  int* managed = nullptr;
  REQUIRE(cudaMallocManaged(&managed, 100 * sizeof(int)) == cudaSuccess);
  for (int i = 0; i < 100; ++i) CHECK(managed[i] == 0);
  cudaFree(managed);
}
