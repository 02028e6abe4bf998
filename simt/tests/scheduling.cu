// Who runs when: blocks that wait for blocks, locks, many small launches, results that do not
// depend on it.
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "simt/tests/device_array.hpp"
#include "tests/catch.hpp"
#include "tests/run_command.hpp"

// Every block waits for its predecessor.
__global__ void chain(int* flags, int* sums) {
  if (threadIdx.x == 0) {
    const int b = blockIdx.x;
    if (b > 0)
      while (atomicAdd(&flags[b - 1], 0) == 0) {
      }
    __threadfence();
    sums[b] = b > 0 ? sums[b - 1] + b : 0;
    __threadfence();
    atomicExch(&flags[b], 1);
  }
}
// Every block waits for its successor: only possible if all blocks are resident.
__global__ void chain_backwards(int* flags, int* sums) {
  __shared__ int mine;
  if (threadIdx.x == 0) {
    mine = blockIdx.x;
    const unsigned b = blockIdx.x;
    if (b + 1 < gridDim.x)
      while (atomicAdd(&flags[b + 1], 0) == 0) __nanosleep(10);
    __threadfence();
    sums[b] = (b + 1 < gridDim.x ? sums[b + 1] : 0) + mine;
    __threadfence();
    atomicExch(&flags[b], 1);
  }
}

TEST_CASE("a block may wait for another block") {
  const int n = 200;
  DeviceArray<int> flags(n, 0), sums(n, 0);
  chain<<<n, 64>>>(flags.get(), sums.get());
  CHECK(sums.values()[n - 1] == n * (n - 1) / 2);
  for (int i = 0; i < n; ++i) flags[i] = 0;
  chain_backwards<<<n, 64>>>(flags.get(), sums.get());
  CHECK(sums.values()[0] == n * (n - 1) / 2);
}

__global__ void lock_and_add(int* lock, int* sum) {
  for (bool done = false; !done;) {
    if (atomicCAS(lock, 0, 1) == 0) {
      __threadfence();
      *reinterpret_cast<volatile int*>(sum) += 1;
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    }
  }
}

// As chain_backwards, and the other threads of a block wait for its first: all of them have stacks.
__global__ void chain_of_full_blocks(int* flags, int* sums) {
  if (threadIdx.x == 0 && blockIdx.x + 1 < gridDim.x) {
    while (atomicAdd(&flags[blockIdx.x + 1], 0) == 0) __nanosleep(10);
  }
  __syncthreads();
  if (threadIdx.x == blockDim.x - 1) {
    sums[blockIdx.x] = blockIdx.x;
    atomicExch(&flags[blockIdx.x], 1);
  }
}

TEST_CASE("64 blocks of 1024 threads wait", "[.]") {
  const int n = 64;
  DeviceArray<int> flags(n, 0), sums(n, 0);
  chain_of_full_blocks<<<n, 1024>>>(flags.get(), sums.get());
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(sums.values()[n - 1] == n - 1);
}

// The kernel allows a process 65530 mappings, and pages that guard stacks are mappings.
TEST_CASE("there are stacks for all threads that may wait, however many cores share them") {
  for (const char* threads : {"1", "8", "64"}) {
    const auto result = tests::run_command(
        "SIMT_THREADS=" + std::string(threads) +
        " " TEST_BUILD "/simt/tests/scheduling '64 blocks of 1024 threads wait' 2>&1");
    INFO(result.output);
    CHECK(result.status == 0);
  }
}

__device__ unsigned long long now() {
  unsigned long long nanoseconds;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(nanoseconds));
  return nanoseconds;
}
__global__ void sleeps_for(unsigned long long nanoseconds) {
  const unsigned long long end = now() + nanoseconds;
  while (now() < end) __nanosleep(1);
}

TEST_CASE("64 threads sleep for longer than a deadlock takes", "[.]") {
  sleeps_for<<<1, 64>>>(1'200'000'000);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
}

TEST_CASE("who sleeps, and looks at nothing meanwhile, is not stuck") {
  const auto result = tests::run_command(
      "SIMT_TIMEOUT=1 " TEST_BUILD
      "/simt/tests/scheduling '64 threads sleep for longer than a deadlock takes' 2>&1");
  INFO(result.output);
  CHECK(result.status == 0);
}

__global__ void sleeps_and_looks(const volatile int* flag) {
  while (*flag == 0) __nanosleep(100);
}

TEST_CASE("32 threads sleep and look at what never comes", "[.]") {
  DeviceArray<int> flag(1, 0);
  sleeps_and_looks<<<1, 32>>>(flag.get());
  CHECK(cudaDeviceSynchronize() == cudaErrorLaunchTimeout);
}

TEST_CASE("who looks at something between its sleeps is stuck if nobody comes") {
  const auto result = tests::run_command(
      "SIMT_TIMEOUT=1 timeout 30 " TEST_BUILD
      "/simt/tests/scheduling '32 threads sleep and look at what never comes' 2>&1");
  INFO(result.output);
  CHECK(result.output.find("deadlock in kernel sleeps_and_looks") != std::string::npos);
}

TEST_CASE("a lock is passed on between the lanes of a warp and between blocks") {
  DeviceArray<int> lock(1, 0), sum(1, 0);
  lock_and_add<<<8, 64>>>(lock.get(), sum.get());
  CHECK(sum.values()[0] == 512);
}

__global__ void warp_waits_for_warp(volatile int* flag, int* out) {
  if (threadIdx.x < 32) {
    while (*flag == 0) __threadfence();
    out[threadIdx.x] = *flag;
  } else if (threadIdx.x == 63) {
    *flag = 9;
  }
}

TEST_CASE("a warp may wait for another warp") {
  DeviceArray<int> flag(1, 0), out(32);
  warp_waits_for_warp<<<1, 64>>>(flag.get(), out.get());
  CHECK(out.values()[31] == 9);
}

__global__ void blocks_wait_by_loads(volatile int* flags, int* out) {
  const int b = blockIdx.x;
  if (b % 2 == 0) {
    while (flags[b + 1] == 0)
      ;
  } else {
    int seen;
    do {
      seen = flags[b / 2 * 2 + 2 < int(gridDim.x) ? b + 2 : 0];
    } while (b + 2 < int(gridDim.x) && seen == 0);
  }
  flags[b] = 1;
  out[b] = b;
}

TEST_CASE("plain loads of a volatile variable see what other blocks write") {
  DeviceArray<int> flags(20, 0), out(20, -1);
  blocks_wait_by_loads<<<20, 1>>>(flags.get(), out.get());
  auto values = out.values();
  for (int b = 0; b < 20; ++b) REQUIRE(values[b] == b);
}

__global__ void increment(int* data) { atomicAdd(data, 1); }

TEST_CASE("thousands of small launches") {
  DeviceArray<int> data(1, 0);
  for (int i = 0; i < 5000; ++i) increment<<<1, 1>>>(data.get());
  CHECK(data.values()[0] == 5000);
}

// Local arrays, recursion and many live threads: every waiting thread keeps its stack.
__device__ int depth(int n) { return n == 0 ? 0 : 1 + depth(n - 1); }
__global__ void deep(int* out) {
  int local[64];
  for (int i = 0; i < 64; ++i) local[i] = i + int(threadIdx.x);
  __syncthreads();
  int sum = depth(100);
  __syncthreads();
  for (int i = 0; i < 64; ++i) sum += local[i];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

TEST_CASE("a waiting thread keeps its local variables") {
  DeviceArray<int> out(4 * 1024);
  deep<<<4, 1024>>>(out.get());
  auto values = out.values();
  for (int t = 0; t < 1024; ++t) REQUIRE(values[2048 + t] == 100 + 2016 + 64 * t);
}

__global__ void pages_of_stacks(uint64_t* page) {
  volatile int local = 0;
  __syncthreads();  // all threads have stacks of their own now
  page[threadIdx.x] = reinterpret_cast<uintptr_t>(&local) / 4096;
  local = 1;
}

// Else a barrier of many threads misses the TLB at every switch, and takes half as long again.
TEST_CASE("the stacks of a block's threads are spread over the sets of a TLB") {
  constexpr int kSets = 128;
  DeviceArray<uint64_t> page(256);
  pages_of_stacks<<<1, 256>>>(page.get());
  std::set<uint64_t> sets;
  for (const uint64_t p : page.values()) sets.insert(p % kSets);
  CHECK(sets.size() > kSets / 2);
}
