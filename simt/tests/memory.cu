// Memory: allocation, copies, fills, pitched, managed and pinned memory, what pointers are; arrays
// and textures.
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
  REQUIRE(cudaMallocFromPoolAsync(&data, 400, pool, stream) == cudaSuccess);
  CHECK(cudaMemsetAsync(data, 0, 400, stream) == cudaSuccess);
  CHECK(cudaFreeAsync(data, stream) == cudaSuccess);
  CHECK(cudaMallocFromPoolAsync(&data, 400, nullptr, stream) == cudaErrorInvalidValue);
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
  CHECK(cudaStreamDestroy(stream) == cudaSuccess);
}

TEST_CASE("a memory pool of the program's own") {
  cudaMemPool_t pool = nullptr, other = nullptr;
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  REQUIRE(cudaMemPoolCreate(&pool, &properties) == cudaSuccess);
  unsigned long long used = 1;
  const auto in_use = [&] {
    CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used) == cudaSuccess);
    return used;
  };
  CHECK(in_use() == 0);
  int* data = nullptr;
  REQUIRE(cudaMallocFromPoolAsync(&data, 400, pool, nullptr) == cudaSuccess);
  REQUIRE(cudaMemsetAsync(data, 0, 400) == cudaSuccess);
  add_one<<<1, 128>>>(data, 100);
  std::vector<int> host(100);
  REQUIRE(cudaMemcpy(host.data(), data, 400, cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK(host[99] == 1);
  CHECK(in_use() == 400);
  CHECK(cudaFreeAsync(data, nullptr) == cudaSuccess);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(in_use() == 0);
  CHECK(cudaDeviceSetMemPool(0, pool) == cudaSuccess);
  CHECK(cudaDeviceGetMemPool(&other, 0) == cudaSuccess);
  CHECK(other == pool);
  CHECK(cudaMemPoolTrimTo(pool, 0) == cudaSuccess);
  CHECK(cudaMemPoolDestroy(pool) == cudaSuccess);
  CHECK(cudaMemPoolDestroy(pool) == cudaErrorInvalidValue);
  CHECK(cudaDeviceGetMemPool(&other, 0) == cudaSuccess);
  CHECK(cudaMemPoolDestroy(other) == cudaErrorInvalidValue);  // the device's own
  properties.location.id = 7;
  CHECK(cudaMemPoolCreate(&pool, &properties) == cudaErrorInvalidDevice);
  cudaGetLastError();
}

TEST_CASE("a box of bytes is filled, and nothing beside it") {
  const size_t pitch = 16, rows = 4, layers = 3;
  unsigned char* data = nullptr;
  REQUIRE(cudaMalloc(&data, pitch * rows * layers) == cudaSuccess);
  REQUIRE(cudaMemset(data, 1, pitch * rows * layers) == cudaSuccess);
  const cudaPitchedPtr box{data, pitch, 12, rows};
  REQUIRE(cudaMemset3D(box, 9, cudaExtent{5, 2, 3}) == cudaSuccess);
  REQUIRE(cudaMemset3DAsync(box, 7, cudaExtent{1, 4, 1}) == cudaSuccess);
  std::vector<unsigned char> host(pitch * rows * layers);
  REQUIRE(cudaMemcpy(host.data(), data, host.size(), cudaMemcpyDeviceToHost) == cudaSuccess);
  size_t wrong = 0;
  for (size_t i = 0; i < host.size(); ++i) {
    const size_t x = i % pitch, y = i / pitch % rows, z = i / pitch / rows;
    wrong += host[i] != (x == 0 && z == 0 ? 7 : x < 5 && y < 2 ? 9 : 1);
  }
  CHECK(wrong == 0);
  CHECK(cudaMemset3D(box, 9, cudaExtent{5, 5, 2}) == cudaErrorInvalidValue);
  cudaGetLastError();
  cudaFree(data);
}

TEST_CASE("fresh managed memory holds zeros") {
  int* managed = nullptr;
  REQUIRE(cudaMallocManaged(&managed, 100 * sizeof(int)) == cudaSuccess);
  for (int i = 0; i < 100; ++i) CHECK(managed[i] == 0);
  cudaFree(managed);
}

// ---- arrays and textures

namespace {

// A texture object of one array or piece of memory, and what a test changes of its description.
struct TestTexture {
  cudaTextureObject_t object = 0;

  template <class Change>
  TestTexture(const cudaResourceDesc& resource, Change change) {
    cudaTextureDesc description{};
    for (auto& mode : description.addressMode) mode = cudaAddressModeClamp;
    change(description);
    REQUIRE(cudaCreateTextureObject(&object, &resource, &description, nullptr) == cudaSuccess);
  }
  explicit TestTexture(const cudaResourceDesc& resource)
      : TestTexture(resource, [](cudaTextureDesc&) {}) {}
  ~TestTexture() { CHECK(cudaDestroyTextureObject(object) == cudaSuccess); }
};

template <class T>
cudaResourceDesc linear(T* data, std::size_t count) {
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear = {data, cudaCreateChannelDesc<T>(), count * sizeof(T)};
  return resource;
}

cudaResourceDesc of_array(cudaArray_t array) {
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  return resource;
}

// What a texture gives at these places.
template <class T>
__global__ void read_1d(T* out, cudaTextureObject_t texture, const int* at) {
  out[threadIdx.x] = tex1Dfetch<T>(texture, at[threadIdx.x]);
}
__global__ void read_2d(float* out, cudaTextureObject_t texture, const float2* at) {
  tex2D(out + threadIdx.x, texture, at[threadIdx.x].x, at[threadIdx.x].y);
}
__global__ void read_3d(short2* out, cudaTextureObject_t texture) {
  const uint3 t = threadIdx;
  out[(t.z * 2 + t.y) * 2 + t.x] = tex3D<short2>(texture, t.x + 0.5f, t.y + 0.5f, t.z + 0.5f);
}

std::vector<float> values_at(cudaTextureObject_t texture, const std::vector<float2>& places) {
  DeviceArray<float2> at(places.size());
  for (std::size_t i = 0; i < places.size(); ++i) at[i] = places[i];
  DeviceArray<float> out(places.size());
  read_2d<<<1, unsigned(places.size())>>>(out.get(), texture, at.get());
  return out.values();
}

// 3 x 2 texels: 1 2 3 in the first row, 10 20 30 in the second.
struct SmallImage {
  cudaArray_t array = nullptr;
  SmallImage() {
    const float texels[2][3] = {{1, 2, 3}, {10, 20, 30}};
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    REQUIRE(cudaMallocArray(&array, &format, 3, 2) == cudaSuccess);
    REQUIRE(cudaMemcpy2DToArray(array, 0, 0, texels, 12, 12, 2, cudaMemcpyHostToDevice) ==
            cudaSuccess);
  }
  ~SmallImage() { CHECK(cudaFreeArray(array) == cudaSuccess); }
};

using Values = std::vector<float>;

}  // namespace

TEST_CASE("a texture of linear memory: elements, zeros beyond, integers as fractions") {
  int* integers = nullptr;
  uchar4* bytes = nullptr;
  REQUIRE(cudaMalloc(&integers, 16) == cudaSuccess);
  REQUIRE(cudaMalloc(&bytes, 16) == cudaSuccess);
  const int values[4] = {5, -6, 7, 8};
  REQUIRE(cudaMemcpy(integers, values, 16, cudaMemcpyHostToDevice) == cudaSuccess);
  REQUIRE(cudaMemset(bytes, 0x81, 16) == cudaSuccess);
  DeviceArray<int> at(4), out(4);
  at[0] = 3, at[1] = 1, at[2] = -1, at[3] = 4;
  {
    const TestTexture texture(linear(integers, 4));
    read_1d<<<1, 4>>>(out.get(), texture.object, at.get());
    CHECK(out.values() == std::vector<int>{8, -6, 0, 0});
    const auto normalized = [](cudaTextureDesc& description) {
      description.readMode = cudaReadModeNormalizedFloat;
    };
    const TestTexture fractions(linear(bytes, 4), normalized);
    DeviceArray<float4> colours(4);
    read_1d<<<1, 4>>>(colours.get(), fractions.object, at.get());
    CHECK(colours.values()[0].w == 129.0f / 255);
    CHECK(colours.values()[3].x == 0);
    const TestTexture with_sign(linear(reinterpret_cast<signed char*>(bytes), 16), normalized);
    DeviceArray<float> fraction(4);
    read_1d<<<1, 4>>>(fraction.get(), with_sign.object, at.get());
    CHECK(fraction.values()[0] == -1);
  }
  cudaFree(integers);
  cudaFree(bytes);
}

TEST_CASE("a texture of two dimensions: the texel that a place lies in, and what lies outside") {
  const SmallImage image;
  const std::vector<float2> places = {{0.5f, 0.5f}, {2.9f, 1.1f}, {-4, 0}, {1, 7}, {3, 1}};
  CHECK(values_at(TestTexture(of_array(image.array)).object, places) == Values{1, 30, 1, 20, 30});
  const TestTexture border(of_array(image.array), [](cudaTextureDesc& description) {
    description.addressMode[0] = description.addressMode[1] = cudaAddressModeBorder;
    description.borderColor[0] = -9;
  });
  CHECK(values_at(border.object, places) == Values{1, 30, -9, -9, -9});
  // Without normalized coordinates, to wrap is to clamp.
  const TestTexture wrapped(of_array(image.array), [](cudaTextureDesc& description) {
    description.addressMode[0] = description.addressMode[1] = cudaAddressModeWrap;
  });
  CHECK(values_at(wrapped.object, places) == Values{1, 30, 1, 20, 30});
  const auto normalized = [&](cudaTextureAddressMode mode) {
    const TestTexture texture(of_array(image.array), [=](cudaTextureDesc& description) {
      description.normalizedCoords = 1;
      description.addressMode[0] = description.addressMode[1] = mode;
    });
    return values_at(texture.object, {{0.5f, 0.75f}, {1.2f, 0}, {-0.2f, 0}, {2.9f, -0.25f}});
  };
  CHECK(normalized(cudaAddressModeClamp) == Values{20, 3, 1, 3});
  CHECK(normalized(cudaAddressModeWrap) == Values{20, 1, 3, 30});
  CHECK(normalized(cudaAddressModeMirror) == Values{20, 3, 1, 3});
}

TEST_CASE("linear filtering weighs the four texels around a place, in steps of 1/256") {
  const SmallImage image;
  const auto filtered = [](cudaTextureDesc& description) {
    description.filterMode = cudaFilterModeLinear;
  };
  const TestTexture texture(of_array(image.array), filtered);
  CHECK(values_at(texture.object,
                  {{0.5f, 0.5f}, {1.25f, 0.5f}, {1, 1}, {0, 0}, {2.0f + 1 / 1024.0f, 0.5f}}) ==
        Values{1, 1.75f, 8.25f, 1, 2.5f});
  // The same texels in pitched memory.
  float* memory = nullptr;
  std::size_t pitch = 0;
  REQUIRE(cudaMallocPitch(&memory, &pitch, 12, 2) == cudaSuccess);
  REQUIRE(cudaMemcpy2DFromArray(memory, pitch, image.array, 0, 0, 12, 2,
                                cudaMemcpyDeviceToDevice) == cudaSuccess);
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypePitch2D;
  resource.res.pitch2D = {memory, cudaCreateChannelDesc<float>(), 3, 2, pitch};
  CHECK(values_at(TestTexture(resource, filtered).object, {{1, 1}, {2.5f, 9}}) ==
        Values{8.25f, 30});
  cudaFree(memory);
}

TEST_CASE("a texture of three dimensions, filled by cudaMemcpy3D") {
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<short2>();
  cudaArray_t array = nullptr;
  REQUIRE(cudaMalloc3DArray(&array, &format, {2, 2, 2}) == cudaSuccess);
  short2 host[8];
  for (short i = 0; i < 8; ++i) host[i] = {i, short(-i)};
  cudaMemcpy3DParms copy{};
  copy.srcPtr = make_cudaPitchedPtr(host, 2 * sizeof(short2), 2, 2);
  copy.dstArray = array;
  copy.extent = {2, 2, 2};
  copy.kind = cudaMemcpyHostToDevice;
  REQUIRE(cudaMemcpy3D(&copy) == cudaSuccess);
  DeviceArray<short2> out(8);
  {
    const TestTexture texture(of_array(array));
    read_3d<<<1, dim3(2, 2, 2)>>>(out.get(), texture.object);
    const auto values = out.values();
    for (int i = 0; i < 8; ++i) CHECK((values[i].x == i && values[i].y == -i));
  }
  copy.extent.width = 3;
  CHECK(cudaMemcpy3D(&copy) == cudaErrorInvalidValue);
  CHECK(cudaFreeArray(array) == cudaSuccess);
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
}

TEST_CASE("textures that cannot be are refused") {
  int* data = nullptr;
  REQUIRE(cudaMalloc(&data, 1024) == cudaSuccess);
  cudaTextureObject_t texture;
  cudaTextureDesc plain{}, filtered{};
  filtered.filterMode = cudaFilterModeLinear;
  const auto created = [&](const cudaResourceDesc& resource, const cudaTextureDesc& description) {
    return cudaCreateTextureObject(&texture, &resource, &description, nullptr);
  };
  CHECK(created(linear(data + 1, 4), plain) == cudaErrorInvalidValue);
  CHECK(created(linear(data, 1 << 20), plain) == cudaErrorInvalidValue);
  CHECK(created(of_array(nullptr), plain) == cudaErrorInvalidResourceHandle);
  cudaResourceDesc image{};
  image.resType = cudaResourceTypePitch2D;
  image.res.pitch2D = {data, cudaCreateChannelDesc<int>(), 8, 2, 32};
  CHECK(created(image, filtered) == cudaErrorInvalidFilterSetting);
  image.res.pitch2D.pitchInBytes = 36;
  CHECK(created(image, plain) == cudaErrorInvalidValue);
  const cudaChannelFormatDesc three{8, 8, 8, 0, cudaChannelFormatKindUnsigned};
  cudaArray_t array;
  CHECK(cudaMallocArray(&array, &three, 4) == cudaErrorInvalidChannelDescriptor);
  CHECK(cudaDestroyTextureObject(0) == cudaErrorInvalidValue);
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
  cudaFree(data);
}
