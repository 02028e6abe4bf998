// Classes as arguments of kernels. A GPU copies and destroys them on the host, where the kernel is
// called, and hands the threads their bytes: no constructor and no destructor of an argument runs
// in a kernel, and none as often as there are threads.
#include <memory>
#include <vector>

#include "simt/include/simt/profile.h"
#include "simt/tests/device_array.hpp"
#include "tests/catch.hpp"

namespace {

struct Counts {
  int copies = 0, moves = 0, destroyed = 0;
};
Counts counts;

// Counts what happens to it; `self` shows that a copy was made by the constructor, not of bytes.
struct Counted {
  int* to;
  int value;
  const Counted* self;

  Counted(int* to, int value) : to(to), value(value), self(this) {}
  Counted(const Counted& other) : to(other.to), value(other.value), self(this) { ++counts.copies; }
  Counted(Counted&& other) : to(other.to), value(other.value), self(this) { ++counts.moves; }
  ~Counted() { ++counts.destroyed; }
};

__global__ void fill(Counted c) { c.to[threadIdx.x] = c.value++ + static_cast<int>(threadIdx.x); }
__global__ void fill_after(int before, const Counted c, float) {
  c.to[threadIdx.x] = c.value + before;
}
template <class T>
__global__ void fill_any(T c) {
  c.to[threadIdx.x] = c.value;
}
template <class... Ts>
__global__ void fill_pack(Ts... cs) {
  ((cs.to[threadIdx.x] = cs.value), ...);
}
template <class F>
__global__ void call(F f) {
  f();
}

// A textbook's wrapper: whoever owns memory frees it.
struct Buffer {
  int* data = nullptr;
  bool owner = true;
  explicit Buffer(size_t count) { REQUIRE(cudaMalloc(&data, count * sizeof(int)) == cudaSuccess); }
  Buffer(const Buffer& other) : data(other.data), owner(false) {}
  ~Buffer() {
    if (owner) cudaFree(data);
  }
};
__global__ void fill_buffer(Buffer b) { b.data[threadIdx.x] = 3 * static_cast<int>(threadIdx.x); }

// Without a copy constructor of its own, the copy frees the memory: after the launch, on the host.
struct Careless {
  int* data = nullptr;
  Careless() { REQUIRE(cudaMalloc(&data, 32 * sizeof(int)) == cudaSuccess); }
  ~Careless() { static_cast<void>(cudaFree(data)); }  // of the two the second fails
};
__global__ void fill_careless(Careless c) { c.data[threadIdx.x] = 1; }

struct Lock {
  int* mutex = nullptr;
  Lock() {
    REQUIRE(cudaMalloc(&mutex, sizeof(int)) == cudaSuccess);
    REQUIRE(cudaMemset(mutex, 0, sizeof(int)) == cudaSuccess);
  }
  Lock(const Lock&) = default;
  ~Lock() { cudaFree(mutex); }
  __device__ void lock() {
    while (atomicCAS(mutex, 0, 1) != 0) continue;
    __threadfence();
  }
  __device__ void unlock() {
    __threadfence();
    atomicExch(mutex, 0);
  }
};
__global__ void count_under(Lock lock, int* count) {
  if (threadIdx.x != 0) return;
  lock.lock();
  *count += 1;
  lock.unlock();
}

struct Large {
  int values[100];
  Large() {
    for (int i = 0; i < 100; ++i) values[i] = i;
  }
  Large(const Large& other) {
    for (int i = 0; i < 100; ++i) values[i] = other.values[i];
  }
};
__global__ void sum(Large large, int* to) {
  int total = 0;
  for (int value : large.values) total += value;
  to[threadIdx.x] = total;
}

void silent() {
  cudaGetLastError();  // a class that frees its memory twice leaves one
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  for (const simt::CheckReport& report : simt::check_reports()) FAIL_CHECK(report.message);
}

void once() {
  CHECK(counts.copies == 1);
  CHECK(counts.moves == 0);
  CHECK(counts.destroyed == 1);
  counts = {};
}

}  // namespace

TEST_CASE("class arguments: copied and destroyed once a launch, on the host") {
  DeviceArray<int> to(32);
  const Counted argument(to.get(), 7);
  counts = {};
  SECTION("an argument") {
    fill<<<1, 32>>>(argument);
    once();
    const std::vector<int> values = to.values();
    for (int i = 0; i < 32; ++i) CHECK(values[i] == 7 + i);  // every thread has a copy of its own
  }
  SECTION("beside others") {
    fill_after<<<1, 32>>>(2, argument, 1.0f);
    once();
    CHECK(to.values() == std::vector<int>(32, 9));
  }
  SECTION("of a template") {
    fill_any<<<1, 32>>>(argument);
    once();
    CHECK(to.values() == std::vector<int>(32, 7));
  }
  SECTION("in a pack") {
    DeviceArray<int> other(32);
    const Counted second(other.get(), 8);
    fill_pack<<<1, 32>>>(argument, second);
    CHECK(counts.copies == 2);
    CHECK(counts.destroyed == 2);
    CHECK(to.values() == std::vector<int>(32, 7));
    CHECK(other.values() == std::vector<int>(32, 8));
  }
  SECTION("held by a lambda") {
    call<<<1, 32>>>([argument] __device__ { argument.to[threadIdx.x] = argument.value; });
    CHECK(counts.destroyed == counts.copies + counts.moves);
    CHECK(counts.destroyed <= 4);
    CHECK(to.values() == std::vector<int>(32, 7));
  }
  SECTION("by a pointer to the kernel: its bytes, as they are") {
    Counted given(to.get(), 5);
    counts = {};
    void* arguments[] = {&given};
    REQUIRE(cudaLaunchKernel((void*)fill_any<Counted>, 1, 32, arguments, 0, nullptr) ==
            cudaSuccess);
    CHECK(to.values() == std::vector<int>(32, 5));
    CHECK(counts.copies + counts.moves + counts.destroyed == 0);
  }
  SECTION("asked about only") {
    cudaFuncAttributes attributes;
    REQUIRE(cudaFuncGetAttributes(&attributes, fill_any<Counted>) == cudaSuccess);
    CHECK(counts.copies + counts.moves + counts.destroyed == 0);
  }
  SECTION("with attributes") {
    cudaLaunchConfig_t config = {};
    config.gridDim = 1;
    config.blockDim = 32;
    REQUIRE(cudaLaunchKernelEx(&config, fill_any<Counted>, argument) == cudaSuccess);
    CHECK(to.values() == std::vector<int>(32, 7));
    CHECK(counts.destroyed == counts.copies + counts.moves);
    CHECK(counts.destroyed <= 2);
  }
  silent();
}

TEST_CASE("class arguments: memory that the class frees") {
  SECTION("the owner") {
    Buffer buffer(32);
    fill_buffer<<<1, 32>>>(buffer);
    fill_buffer<<<1, 32>>>(buffer);
    int seen = 0;
    REQUIRE(cudaMemcpy(&seen, buffer.data + 31, sizeof seen, cudaMemcpyDeviceToHost) ==
            cudaSuccess);
    CHECK(seen == 93);
    silent();
  }
  SECTION("the copy, too: nothing is left for the second launch") {
    Careless careless;
    fill_careless<<<1, 32>>>(careless);
    silent();
    fill_careless<<<1, 32>>>(careless);
    CHECK(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
    const std::vector<simt::CheckReport> reports = simt::check_reports();
    REQUIRE(reports.size() == 1);
    CHECK(reports[0].check == "use-after-free");
    REQUIRE(cudaDeviceReset() == cudaSuccess);
  }
}

TEST_CASE("class arguments: a lock and a large object") {
  cudaGetLastError();
  DeviceArray<int> count(1);
  {
    Lock lock;
    count_under<<<20, 32>>>(lock, count.get());
    silent();
    CHECK(count.values()[0] == 20);
  }
  cudaGetLastError();  // the lock's own destructor found nothing to free
  DeviceArray<int> to(32);
  sum<<<1, 32>>>(Large(), to.get());
  CHECK(to.values() == std::vector<int>(32, 4950));
  silent();
}
