// common/kit/device_buffer.cuh and common/kit/host_buffer.hpp: owners of memory.
#include "common/kit/device_buffer.cuh"

#include <cstdint>
#include <utility>
#include <vector>

#include "common/bench/device_facts.cuh"
#include "common/kit/check.cuh"
#include "common/kit/host_buffer.hpp"
#include "tests/catch.hpp"

using kit::DeviceBuffer;
using kit::HostBuffer;

TEST_CASE("a device buffer holds data, moves, and frees itself") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  const std::vector<int> in = {1, 2, 3};
  std::vector<int> out(3);
  DeviceBuffer<int> a(3);
  CHECK(a.size() == 3);
  CHECK(a.bytes() == 12);
  CUDA_CHECK(cudaMemcpy(a.data(), in.data(), a.bytes(), cudaMemcpyHostToDevice));
  DeviceBuffer<int> b = std::move(a);
  CHECK(a.data() == nullptr);
  CHECK(a.size() == 0);
  CUDA_CHECK(cudaMemcpy(out.data(), b.data(), b.bytes(), cudaMemcpyDeviceToHost));
  CHECK(out == in);
}

TEST_CASE("a buffer that is moved to gives up what it held") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  constexpr std::int64_t kBytes = 64 << 20;
  std::size_t before = 0, after = 0, total = 0;
  CUDA_CHECK(cudaMemGetInfo(&before, &total));
  {
    DeviceBuffer<char> kept(kBytes);
    for (int i = 0; i < 50; ++i) kept = DeviceBuffer<char>(kBytes);
    CHECK(kept.size() == kBytes);
    CUDA_CHECK(cudaMemset(kept.data(), 1, kBytes));
  }
  CUDA_CHECK(cudaMemGetInfo(&after, &total));
  CHECK(after + kBytes > before);
}

TEST_CASE("freed device memory can be had again") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  std::size_t before = 0, after = 0, total = 0;
  { DeviceBuffer<char> warm_up(1 << 20); }
  CUDA_CHECK(cudaMemGetInfo(&before, &total));
  for (int i = 0; i < 100; ++i) DeviceBuffer<char> buffer(64 << 20);
  CUDA_CHECK(cudaMemGetInfo(&after, &total));
  CHECK(after + (64 << 20) > before);
}

TEST_CASE("more device memory than there is throws") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  CHECK_THROWS_AS(DeviceBuffer<char>(std::int64_t{1} << 50), kit::CudaError);
}

TEST_CASE("empty buffers are fine") {
  const DeviceBuffer<float> device(0);
  CHECK(device.data() == nullptr);
  const HostBuffer<float> host(0);
  CHECK(host.size() == 0);
}

TEST_CASE("a host buffer starts on a page") {
  HostBuffer<float> a(5);
  CHECK(reinterpret_cast<std::uintptr_t>(a.data()) % 4096 == 0);
  a[4] = 2.5f;
  CHECK(a[4] == 2.5f);
}

TEST_CASE("copy_parallel copies every byte, at any length") {
  for (const int n : {0, 1, 1000, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 5 << 20}) {
    std::vector<unsigned char> from(n + 1), to(n + 1, 0xEE);
    for (int i = 0; i < n; ++i) from[i] = static_cast<unsigned char>(i * 7 + i / 256);
    from[n] = 0;
    kit::copy_parallel(to.data(), from.data(), n);
    CHECK(to[n] == 0xEE);  // not one byte more
    to[n] = 0;
    CHECK(to == from);
  }
}

TEST_CASE("equal_parallel sees a single byte, wherever it is, and none past the end") {
  for (const int n : {1, 1000, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 5 << 20}) {
    std::vector<unsigned char> one(n + 1, 0x11), other(n + 1, 0x11);
    other[n] = 0x22;
    CHECK(kit::equal_parallel(one.data(), other.data(), n));
    for (const int place : {0, n / 2, n - 1}) {
      other[place] = 0x22;
      CHECK_FALSE(kit::equal_parallel(one.data(), other.data(), n));
      other[place] = 0x11;
    }
  }
  CHECK(kit::equal_parallel(nullptr, nullptr, 0));
}
