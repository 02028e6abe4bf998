// common/kit/devices.cuh and meet.cuh: several devices of one machine, asked by one host thread.
#include "common/kit/devices.cuh"

#include <stdexcept>

#include "common/kit/device_buffer.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/meet.cuh"
#include "tests/by_itself.hpp"
#include "tests/catch.hpp"

namespace {

int current_device() {
  int device = -1;
  CUDA_CHECK(cudaGetDevice(&device));
  return device;
}

struct Flags {
  int size = 2;
  unsigned* flags[2] = {};
};

__global__ void meet_kernel(Flags peers, unsigned epoch) { kit::meet(peers, 0, epoch); }

}  // namespace

TEST_CASE("devices: who asks for access has the same device as before", "[.]") {
  for (const int device : {1, 0}) {
    CUDA_CHECK(cudaSetDevice(device));
    kit::enable_access(0, 1);
    CHECK(current_device() == device);
    kit::enable_access(1, 0);
    CHECK(current_device() == device);
    kit::enable_access(0, 1);  // once more
    CHECK(current_device() == device);
  }
  kit::DeviceTeam team(2);
  CHECK(current_device() == 0);
  kit::for_each_rank(team.devices(),
                     [](int rank, cudaStream_t) { CHECK(current_device() == rank); });
  CHECK(current_device() == 0);
}

// Each stream runs when somebody waits for it: what nothing ties to the caller's comes too late.
TEST_CASE("devices: their streams are tied to the caller's, after an exception, too", "[.]") {
  kit::DeviceTeam team(2);
  CUDA_CHECK(cudaSetDevice(0));
  cudaStream_t caller = nullptr;
  CUDA_CHECK(cudaStreamCreateWithFlags(&caller, cudaStreamNonBlocking));
  kit::DeviceBuffer<unsigned char> one(1);
  const auto sees = [&](int value) {
    unsigned char seen = 0;
    CUDA_CHECK(cudaMemsetAsync(one.data(), value - 1, 1, caller));
    team.with(caller, [&](const kit::Devices& devices) {
      CUDA_CHECK(cudaMemsetAsync(one.data(), value, 1, devices.streams[1]));
    });
    CUDA_CHECK(cudaMemcpyAsync(&seen, one.data(), 1, cudaMemcpyDeviceToHost, caller));
    CUDA_CHECK(cudaStreamSynchronize(caller));
    CHECK(static_cast<int>(seen) == value);
  };
  sees(3);
  const auto fails = [](const kit::Devices&) { throw std::runtime_error("a rung failed"); };
  CHECK_THROWS_AS(team.with(caller, fails), std::runtime_error);
  sees(5);
  CUDA_CHECK(cudaStreamDestroy(caller));
}

TEST_CASE("devices: two of them") {
  tests::passes_by_itself("SIMT_DEVICES=2", "devices: who asks for access*");
  tests::passes_by_itself("SIMT_DEVICES=2 SIMT_STREAMS=deferred", "devices: their streams*");
}

TEST_CASE("meet: nobody waits for a peer that has come, or is one meeting ahead") {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) SKIP_TEST("needs a GPU");
  kit::DeviceBuffer<unsigned> own(kit::kMostDevices), other(kit::kMostDevices);
  for (const unsigned epoch : {1u, 7u, 0xffffffffu, 0u}) {
    for (const unsigned ahead : {0u, 1u}) {
      CAPTURE(epoch, ahead);
      const unsigned told = epoch + ahead;
      CUDA_CHECK(cudaMemset(other.data(), 0, other.bytes()));
      CUDA_CHECK(cudaMemcpy(own.data() + 1, &told, 4, cudaMemcpyHostToDevice));
      meet_kernel<<<1, 32>>>({2, {own.data(), other.data()}}, epoch);
      REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
      unsigned said = 5;
      CUDA_CHECK(cudaMemcpy(&said, other.data(), 4, cudaMemcpyDeviceToHost));
      CHECK(said == epoch);
    }
  }
}
