// What a judge asks (simt/judge.h): who wrote a byte last, what host code copied, and settings that
// no code of the program can change.
#include "simt/include/simt/judge.h"

#include <stdlib.h>

#include <vector>

#include "simt/include/simt/profile.h"
#include "tests/catch.hpp"

namespace {

// Runs before every constructor that has no number, and before main().
__attribute__((constructor(101))) void too_late() { setenv("SIMT_CHECK", "0", 1); }

constexpr int kCount = 64;

__global__ void store_kernel(int* out, int count) {
  if (static_cast<int>(threadIdx.x) < count) out[threadIdx.x] = 7;
}
__global__ void read_kernel(const int* in, int* out) { *out = *in; }
__global__ void both_kernel(const float* angle, float2* point) {
  sincosf(*angle, &point[blockIdx.x].y, &point[blockIdx.x].x);
}

struct Buffer {
  std::vector<int> before = std::vector<int>(kCount, 1);
  int* device = nullptr;

  Buffer() {
    REQUIRE(cudaMalloc(&device, bytes()) == cudaSuccess);
    REQUIRE(cudaMemcpy(device, before.data(), bytes(), cudaMemcpyHostToDevice) == cudaSuccess);
  }
  ~Buffer() { cudaFree(device); }
  size_t bytes() const { return before.size() * sizeof(int); }
  size_t foreign(size_t* first) const {
    return simt::not_by_kernels(device, before.data(), bytes(), first);
  }
};

}  // namespace

TEST_CASE("a setting that a constructor changes is as it was") {
  int* unwritten = nullptr;
  REQUIRE(cudaMalloc(&unwritten, 2 * sizeof(int)) == cudaSuccess);
  read_kernel<<<1, 1>>>(unwritten, unwritten + 1);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(simt::check_reports().size() == 1);
  cudaFree(unwritten);
}

TEST_CASE("bytes that are new are a kernel's, a fill's, or foreign") {
  Buffer buffer;
  size_t first = 0;
  CHECK(buffer.foreign(&first) == 0);  // nothing is new
  store_kernel<<<1, kCount>>>(buffer.device, kCount / 2);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(buffer.foreign(&first) == 0);

  SECTION("a copy from the host") {
    const int value = 7;
    REQUIRE(cudaMemcpy(buffer.device + 3, &value, 4, cudaMemcpyHostToDevice) == cudaSuccess);
    CHECK(buffer.foreign(&first) == 1);  // three of its bytes are as they were
    CHECK(first == 3 * sizeof(int));
  }
  SECTION("a store that nobody saw") {
    volatile char* bytes = reinterpret_cast<char*>(buffer.device);
    asm volatile("movb $9, (%0)" ::"r"(bytes + 200) : "memory");
    CHECK(buffer.foreign(&first) == 1);
    CHECK(first == 200);
  }
  SECTION("a fill, and a copy of what a kernel wrote") {
    REQUIRE(cudaMemset(buffer.device, 5, 8) == cudaSuccess);
    REQUIRE(cudaMemcpy(buffer.device + 40, buffer.device + 8, 16, cudaMemcpyDeviceToDevice) ==
            cudaSuccess);
    CHECK(buffer.foreign(&first) == 0);
  }
}

TEST_CASE("copies between host and device are added up") {
  Buffer buffer;
  const simt::HostCopies begin = simt::host_copies();
  std::vector<int> host(kCount);
  REQUIRE(cudaMemcpy(host.data(), buffer.device, 12, cudaMemcpyDeviceToHost) == cudaSuccess);
  REQUIRE(cudaMemcpy(buffer.device, host.data(), 8, cudaMemcpyDefault) == cudaSuccess);
  REQUIRE(cudaMemcpy(buffer.device, buffer.device + 8, 4, cudaMemcpyDeviceToDevice) == cudaSuccess);
  const simt::HostCopies end = simt::host_copies();
  CHECK(end.to_host - begin.to_host == 12);
  CHECK(end.to_device - begin.to_device == 8);
}

TEST_CASE("blocks are counted, and what sincosf stores") {
  float* angle = nullptr;
  float2* point = nullptr;
  REQUIRE(cudaMalloc(&angle, sizeof(float)) == cudaSuccess);
  REQUIRE(cudaMalloc(&point, 3 * sizeof(float2)) == cudaSuccess);
  REQUIRE(cudaMemset(angle, 0, sizeof(float)) == cudaSuccess);
  simt::profile_reset();
  both_kernel<<<3, 1>>>(angle, point);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  const simt::KernelProfile counts = simt::profile("both_kernel");
  CHECK(counts.blocks == 3);
  CHECK(counts.global.store_bytes == 3 * sizeof(float2));
  simt::profile_stop();
  cudaFree(angle);
  cudaFree(point);
}
