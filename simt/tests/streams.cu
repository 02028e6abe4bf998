// Streams and events: what runs after what, and what runs at the same time.
#include <chrono>
#include <thread>
#include <vector>

#include "simt/tests/device_array.hpp"
#include "tests/catch.hpp"

__global__ void add(int* data, int n, int value) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] = data[i] * 2 + value;
}
// Waits for the host or another kernel to set the flag.
__global__ void wait_for(int* flag) {
  while (atomicAdd(flag, 0) == 0) __nanosleep(100);
}
__global__ void count(int* sum) { atomicAdd(sum, 1); }
__global__ void nothing() {}
__global__ void raise(int* flag) { atomicExch(flag, 1); }

namespace {

struct Stream {
  cudaStream_t handle;
  explicit Stream(unsigned flags = cudaStreamDefault) {
    REQUIRE(cudaStreamCreateWithFlags(&handle, flags) == cudaSuccess);
  }
  ~Stream() { cudaStreamDestroy(handle); }
  operator cudaStream_t() const { return handle; }
};

// Whatever may run has run after this: work that was given to the device before and waits for
// nothing is done before ten small kernels in a stream of their own, one after the other.
void let_the_device_work() {
  Stream apart(cudaStreamNonBlocking);
  for (int i = 0; i < 10; ++i) {
    nothing<<<1, 1, 0, apart>>>();
    REQUIRE(cudaStreamSynchronize(apart) == cudaSuccess);
  }
}

void raise_by_host(int* flag) { __atomic_store_n(flag, 1, __ATOMIC_SEQ_CST); }

// What lies there now, though the host has not waited for whoever may write it.
int look(const int* at) { return *static_cast<const volatile int*>(at); }

}  // namespace

TEST_CASE("a stream keeps its order") {
  Stream stream(cudaStreamNonBlocking);
  const int n = 1000;
  int *pinned = nullptr, *device = nullptr;
  REQUIRE(cudaMallocHost(&pinned, n * sizeof(int)) == cudaSuccess);
  REQUIRE(cudaMalloc(&device, n * sizeof(int)) == cudaSuccess);
  for (int i = 0; i < n; ++i) pinned[i] = i;
  REQUIRE(cudaMemcpyAsync(device, pinned, n * sizeof(int), cudaMemcpyHostToDevice, stream) ==
          cudaSuccess);
  add<<<4, 256, 0, stream>>>(device, n, 1);
  add<<<4, 256, 0, stream>>>(device, n, 5);
  REQUIRE(cudaMemcpyAsync(pinned, device, n * sizeof(int), cudaMemcpyDeviceToHost, stream) ==
          cudaSuccess);
  REQUIRE(cudaStreamSynchronize(stream) == cudaSuccess);
  CHECK(pinned[7] == (7 * 2 + 1) * 2 + 5);
  CHECK(cudaStreamQuery(stream) == cudaSuccess);
  cudaFreeHost(pinned);
  cudaFree(device);
}

TEST_CASE("launches return before the kernel is done") {
  DeviceArray<int> flag(1, 0);
  Stream stream(cudaStreamNonBlocking);
  wait_for<<<1, 1, 0, stream>>>(flag.get());
  CHECK(cudaStreamQuery(stream) == cudaErrorNotReady);
  CHECK(cudaGetLastError() == cudaSuccess);  // not ready is no error
  raise_by_host(flag.get());
  CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
  CHECK(cudaStreamQuery(stream) == cudaSuccess);
}

TEST_CASE("streams run beside each other") {
  DeviceArray<int> flag(1, 0);
  Stream first(cudaStreamNonBlocking), second(cudaStreamNonBlocking);
  wait_for<<<1, 32, 0, first>>>(flag.get());
  raise<<<1, 1, 0, second>>>(flag.get());
  CHECK(cudaStreamSynchronize(first) == cudaSuccess);
}

TEST_CASE("an event orders two streams") {
  const int n = 1 << 14;
  DeviceArray<int> data(n, 0), copy(n, 0), flag(1, 0);
  Stream first(cudaStreamNonBlocking), second(cudaStreamNonBlocking);
  cudaEvent_t ready;
  REQUIRE(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming) == cudaSuccess);
  wait_for<<<1, 1, 0, first>>>(flag.get());
  add<<<n / 256, 256, 0, first>>>(data.get(), n, 5);
  REQUIRE(cudaEventRecord(ready, first) == cudaSuccess);
  REQUIRE(cudaStreamWaitEvent(second, ready, 0) == cudaSuccess);
  REQUIRE(cudaMemcpyAsync(copy.get(), data.get(), n * sizeof(int), cudaMemcpyDeviceToDevice,
                          second) == cudaSuccess);
  let_the_device_work();
  CHECK(cudaEventQuery(ready) == cudaErrorNotReady);
  CHECK(cudaStreamQuery(second) == cudaErrorNotReady);
  raise_by_host(flag.get());
  CHECK(copy.values()[n - 1] == 5);
  CHECK(cudaEventQuery(ready) == cudaSuccess);
  cudaEventDestroy(ready);
}

TEST_CASE("the legacy default stream waits for blocking streams and they for it") {
  DeviceArray<int> flag(1, 0), data(1, 1);
  Stream blocking(cudaStreamDefault);
  SECTION("the default stream waits") {
    wait_for<<<1, 1, 0, blocking>>>(flag.get());
    add<<<1, 1>>>(data.get(), 1, 10);
    let_the_device_work();
    CHECK(look(data.get()) == 1);
    raise_by_host(flag.get());
    CHECK(data.values()[0] == 12);
  }
  SECTION("a blocking stream waits") {
    wait_for<<<1, 1>>>(flag.get());
    add<<<1, 1, 0, blocking>>>(data.get(), 1, 10);
    let_the_device_work();
    CHECK(look(data.get()) == 1);
    raise_by_host(flag.get());
    CHECK(data.values()[0] == 12);
  }
  SECTION("one after the other") {
    wait_for<<<1, 1, 0, blocking>>>(flag.get());
    add<<<1, 1>>>(data.get(), 1, 10);
    add<<<1, 1, 0, blocking>>>(data.get(), 1, 100);
    Stream apart(cudaStreamNonBlocking);  // waits for nobody
    raise<<<1, 1, 0, apart>>>(flag.get());
    CHECK(data.values()[0] == (1 * 2 + 10) * 2 + 100);
  }
}

TEST_CASE("the per-thread default stream is nobody else's") {
  DeviceArray<int> flag(1, 0);
  wait_for<<<1, 1, 0, cudaStreamPerThread>>>(flag.get());
  std::thread other([&] {
    raise<<<1, 1, 0, cudaStreamPerThread>>>(flag.get());
    cudaStreamSynchronize(cudaStreamPerThread);
  });
  other.join();
  CHECK(cudaStreamSynchronize(cudaStreamPerThread) == cudaSuccess);
}

TEST_CASE("events measure time") {
  cudaEvent_t start, stop;
  REQUIRE(cudaEventCreate(&start) == cudaSuccess);
  REQUIRE(cudaEventCreate(&stop) == cudaSuccess);
  DeviceArray<int> flag(1, 0);
  Stream stream(cudaStreamNonBlocking);
  REQUIRE(cudaEventRecord(start, stream) == cudaSuccess);
  wait_for<<<1, 1, 0, stream>>>(flag.get());
  REQUIRE(cudaEventRecord(stop, stream) == cudaSuccess);
  float ms = -1;
  CHECK(cudaEventElapsedTime(&ms, start, stop) == cudaErrorNotReady);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  raise_by_host(flag.get());
  REQUIRE(cudaEventSynchronize(stop) == cudaSuccess);
  REQUIRE(cudaEventElapsedTime(&ms, start, stop) == cudaSuccess);
  CHECK(ms >= 15);
  CHECK(ms < 10000);
  cudaEventDestroy(start);
  cudaEventDestroy(stop);
}

TEST_CASE("host functions and callbacks run in stream order") {
  DeviceArray<int> data(1, 1);
  Stream stream;
  struct Seen {
    int* data;
    int by_function = 0, by_callback = 0;
    cudaError_t status = cudaErrorUnknown;
  } seen{data.get()};
  add<<<1, 1, 0, stream>>>(data.get(), 1, 3);
  REQUIRE(cudaLaunchHostFunc(
              stream,
              [](void* p) {
                auto* s = static_cast<Seen*>(p);
                s->by_function = *s->data;
              },
              &seen) == cudaSuccess);
  add<<<1, 1, 0, stream>>>(data.get(), 1, 0);
  REQUIRE(cudaStreamAddCallback(
              stream,
              [](cudaStream_t, cudaError_t status, void* p) {
                auto* s = static_cast<Seen*>(p);
                s->by_callback = *s->data;
                s->status = status;
              },
              &seen, 0) == cudaSuccess);
  REQUIRE(cudaStreamSynchronize(stream) == cudaSuccess);
  CHECK(seen.by_function == 5);
  CHECK(seen.by_callback == 10);
  CHECK(seen.status == cudaSuccess);
}

TEST_CASE("a destroyed stream finishes its work") {
  DeviceArray<int> data(1, 1), flag(1, 0);
  cudaStream_t stream;
  REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
  wait_for<<<1, 1, 0, stream>>>(flag.get());
  add<<<1, 1, 0, stream>>>(data.get(), 1, 3);
  REQUIRE(cudaStreamDestroy(stream) == cudaSuccess);
  raise_by_host(flag.get());
  CHECK(data.values()[0] == 5);
}

TEST_CASE("several host threads may launch at once") {
  const int threads = 4, launches = 50;
  DeviceArray<int> sum(1, 0);
  std::vector<std::thread> hosts;
  for (int t = 0; t < threads; ++t)
    hosts.emplace_back([&] {
      cudaStream_t stream;
      cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
      for (int i = 0; i < launches; ++i) {
        count<<<2, 32, 0, stream>>>(sum.get());
      }
      cudaStreamSynchronize(stream);
      cudaStreamDestroy(stream);
    });
  for (auto& host : hosts) host.join();
  CHECK(sum.values()[0] == threads * launches * 64);
}

TEST_CASE("a stream keeps its attributes") {
  cudaStream_t stream, other;
  REQUIRE(cudaStreamCreate(&stream) == cudaSuccess);
  REQUIRE(cudaStreamCreate(&other) == cudaSuccess);
  cudaStreamAttrValue value{}, back{};
  value.accessPolicyWindow.base_ptr = &stream;
  value.accessPolicyWindow.num_bytes = 128;
  value.accessPolicyWindow.hitRatio = 0.5f;
  value.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
  CHECK(cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &value) ==
        cudaSuccess);
  CHECK(cudaStreamCopyAttributes(other, stream) == cudaSuccess);
  CHECK(cudaStreamGetAttribute(other, cudaStreamAttributeAccessPolicyWindow, &back) == cudaSuccess);
  CHECK(back.accessPolicyWindow.num_bytes == 128);
  CHECK(back.accessPolicyWindow.hitProp == cudaAccessPropertyPersisting);
  value.accessPolicyWindow.hitRatio = 1.5f;
  CHECK(cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &value) ==
        cudaErrorInvalidValue);
  value.priority = -2;
  CHECK(cudaStreamSetAttribute(stream, cudaStreamAttributePriority, &value) == cudaSuccess);
  int priority = 0;
  CHECK(cudaStreamGetPriority(stream, &priority) == cudaSuccess);
  CHECK(priority == -2);
  CHECK(cudaStreamGetAttribute(stream, cudaLaunchAttributeClusterDimension, &back) ==
        cudaErrorInvalidValue);
  CHECK(cudaCtxResetPersistingL2Cache() == cudaSuccess);
  cudaGetLastError();
  cudaStreamDestroy(stream), cudaStreamDestroy(other);
}
