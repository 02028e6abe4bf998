// What a judge asks (simt/judge.h): who wrote a byte last, what host code copied, and settings that
// no code of the program can change.
#include "simt/include/simt/judge.h"

#include <stdlib.h>

#include <cstring>
#include <string>
#include <vector>

#include "simt/include/simt/profile.h"
#include "tests/catch.hpp"
#include "tests/run_command.hpp"

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

int of_the_host = 4;
constexpr int kTable[] = {10, 20};
const char* const kNames[] = {"a", "b"};
struct Base {
  __host__ __device__ virtual int three() const { return 3; }
};
__global__ void constants_kernel(int* out, int i) {
  const Base base;
  const Base* volatile unknown = &base;
  out[0] = kTable[i], out[1] = kNames[i][0], out[2] = unknown->three();
}
__global__ void write_kernel(int value) { of_the_host = value; }

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
    REQUIRE(cudaMemset(buffer.device, 0, 8) == cudaSuccess);
    REQUIRE(cudaMemcpy(buffer.device + 40, buffer.device + 8, 16, cudaMemcpyDeviceToDevice) ==
            cudaSuccess);
    CHECK(buffer.foreign(&first) == 0);
  }
  SECTION("a fill with what host code has chosen") {
    REQUIRE(cudaMemset(reinterpret_cast<char*>(buffer.device) + 5, 9, 1) == cudaSuccess);
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
    CHECK(buffer.foreign(&first) == 1);
    CHECK(first == 5);
  }
}

// Of host memory it is known only in a judge's program, which reads a word from its standard input.
TEST_CASE("run copies to the host", "[.]") {
  REQUIRE(simt::seal() == std::string("word"));
  constexpr size_t kInts = 200, kBytes = kInts * sizeof(int);
  int* device = nullptr;
  REQUIRE(cudaMalloc(&device, kBytes) == cudaSuccess);
  store_kernel<<<1, kInts>>>(device, kInts);
  // What is remembered lies in pieces of 256 bytes: the copy begins and ends within one.
  alignas(256) char memory[2048];
  const std::vector<char> before(sizeof memory, 1);
  std::memcpy(memory, before.data(), sizeof memory);
  char* to = memory + 100;
  const auto copy = [&](size_t at, size_t bytes) {
    REQUIRE(cudaMemcpy(to + at, reinterpret_cast<char*>(device) + at, bytes,
                       cudaMemcpyDeviceToHost) == cudaSuccess);
  };
  size_t first = 0;
  const auto foreign = [&] {
    first = 0;
    return simt::not_by_kernels(memory, before.data(), sizeof memory, &first);
  };
  copy(0, kBytes);
  CHECK(foreign() == 0);
  CHECK(memory[100] == 7);

  SECTION("bytes beside those of the copy are not the kernel's") {
    memory[99] = 7;
    memory[100 + kBytes] = 7;
    CHECK(foreign() == 2);
    CHECK(first == 99);
  }
  SECTION("a byte that was changed since is not, and is again after another copy") {
    for (size_t at : {size_t{0}, size_t{155}, size_t{156}, size_t{412}, kBytes - 1}) {
      to[at] = 9;
      CHECK(foreign() == 1);
      CHECK(first == 100 + at);
      copy(at, 1);
      CHECK(foreign() == 0);
    }
  }
  SECTION("what host code put on the device comes back as its own") {
    const std::vector<int> own(50, 5);
    REQUIRE(cudaMemcpy(device + 60, own.data(), 200, cudaMemcpyHostToDevice) == cudaSuccess);
    CHECK(foreign() == 0);  // it has not come yet
    copy(0, kBytes);
    CHECK(foreign() == 200);
    CHECK(first == 100 + 60 * sizeof(int));
    REQUIRE(cudaMemset(device + 60, 0, 100) == cudaSuccess);
    copy(240, 100);
    CHECK(foreign() == 100);
    CHECK(first == 100 + 85 * sizeof(int));
  }
  SECTION("the same memory in another place is the kernel's there") {
    REQUIRE(cudaMemcpy(memory + 1000, device, 300, cudaMemcpyDeviceToHost) == cudaSuccess);
    CHECK(foreign() == 0);
    std::memcpy(memory + 1400, memory + 1000, 300);  // by host code: nobody knows
    CHECK(foreign() == 300);
    CHECK(first == 1400);
  }
  cudaFree(device);
}

TEST_CASE("bytes that copies bring to the host are a kernel's, byte by byte") {
  const auto result = tests::run_command("printf word | SIMT_CHECK=1 SIMT_SEAL=1 " +
                                         tests::this_program() + " 'run copies to the host' 2>&1");
  INFO(result.output);
  CHECK(result.status == 0);
}

// In other programs such a variable may be what a function of the device has that is static.
TEST_CASE("run variables of the host", "[.]") {
  REQUIRE(simt::seal() == std::string("word"));
  int* out = nullptr;
  REQUIRE(cudaMalloc(&out, 3 * sizeof(int)) == cudaSuccess);
  constants_kernel<<<1, 1>>>(out, 1);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  int found[3] = {};
  REQUIRE(cudaMemcpy(found, out, sizeof found, cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK((found[0] == 20 && found[1] == 'b' && found[2] == 3));
  SECTION("a write") {
    write_kernel<<<1, 1>>>(5);
    CHECK(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
  }
  SECTION("a read") {
    read_kernel<<<1, 1>>>(&of_the_host, out);
    CHECK(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
  }
  const auto reports = simt::check_reports();
  REQUIRE(reports.size() == 1);
  CHECK(reports[0].check == "host-pointer");
  CHECK(reports[0].message.find("is __device__ missing?") != std::string::npos);
  CHECK(cudaDeviceReset() == cudaSuccess);
}

TEST_CASE("where a judge looks on, kernels use no variable of the host") {
  const auto result =
      tests::run_command("printf word | SIMT_CHECK=1 SIMT_SEAL=1 " + tests::this_program() +
                         " 'run variables of the host' 2>&1");
  INFO(result.output);
  CHECK(result.status == 0);
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
