// common/kit/launch.cuh: the size of a grid, the device, 16-byte accesses, shared memory, slots.
#include "common/kit/launch.cuh"

#include <cstdint>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "common/bench/device_facts.cuh"
#include "common/kit/check.cuh"
#include "tests/catch.hpp"

namespace {

__global__ void any_kernel() {}

struct Slot {
  int words[3];
};
__device__ Slot slots_of_test[8];

}  // namespace

TEST_CASE("parts cover a whole") {
  CHECK(kit::divide_up(0, 4) == 0);
  CHECK(kit::divide_up(1, 4) == 1);
  CHECK(kit::divide_up(8, 4) == 2);
  CHECK(kit::divide_up(9, 4) == 3);
  CHECK(kit::divide_up(3'000'000'000, 2) == 1'500'000'000);
}

TEST_CASE("the device is asked what the facts about it say") {
  const bench::DeviceFacts device = bench::query_device();
  if (!device.available) SKIP_TEST("needs a GPU");
  CHECK(kit::multiprocessor_count() == device.multiprocessors);
  CHECK(kit::most_shared() == device.shared_bytes_per_block_optin);
}

TEST_CASE("multiples of 16 bytes are aligned, and nothing else is") {
  alignas(16) char bytes[33] = {};
  for (int i = 0; i <= 32; ++i) {
    INFO(i);
    CHECK(kit::is_aligned_to_16(bytes + i) == (i % 16 == 0));
  }
  CHECK(kit::is_aligned_to_16(nullptr));
}

TEST_CASE("rows are aligned if the first one is and all have whole chunks of 16 bytes") {
  alignas(16) const float floats[8] = {};
  alignas(16) const std::uint16_t halves[8] = {};
  for (int cols = 0; cols <= 32; ++cols) {
    INFO(cols);
    CHECK(kit::has_vector_rows(floats, cols) == (cols % 4 == 0));
    CHECK(kit::has_vector_rows(halves, cols) == (cols % 8 == 0));
  }
  CHECK_FALSE(kit::has_vector_rows(floats + 1, 4));
  CHECK(kit::has_vector_rows(floats + 4, 4));
}

TEST_CASE("one pointer that is not aligned is enough to refuse, whichever it is") {
  alignas(16) const float in[8] = {};
  alignas(16) double out[4] = {};
  kit::require_aligned_to_16(in, out, in + 4);
  CHECK_THROWS_AS(kit::require_aligned_to_16(in + 1, out, in), kit::Skip);
  CHECK_THROWS_AS(kit::require_aligned_to_16(in, out + 1, in), kit::Skip);
  CHECK_THROWS_AS(kit::require_aligned_to_16(in, out, in + 2), kit::Skip);
}

TEST_CASE("clusters that fit nowhere are none, a reason to skip and no error") {
  const bench::DeviceFacts device = bench::query_device();
  if (!device.available) SKIP_TEST("needs a GPU");
  if (device.compute_capability() < 90) SKIP_TEST("needs sm_90");
  cudaLaunchAttribute cluster;
  cluster.id = cudaLaunchAttributeClusterDimension;
  cudaLaunchConfig_t config = {};
  config.blockDim = 32;
  config.attrs = &cluster;
  config.numAttrs = 1;
  const auto at_once = [&](unsigned size) {
    cluster.val.clusterDim = {size, 1, 1};
    config.gridDim = size;
    return kit::clusters_at_once(any_kernel, config);
  };
  CHECK(at_once(1) > 0);
  CHECK_NOTHROW(kit::require_clusters(at_once(1), 1));
  CHECK(at_once(64) == 0);  // no chip has them
  CHECK(cudaGetLastError() == cudaSuccess);
  CHECK_THROWS_AS(kit::require_clusters(at_once(64), 64), kit::Skip);
}

TEST_CASE("all the shared memory of a block is allowed, more is a reason to skip") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  CHECK_NOTHROW(kit::allow_shared(any_kernel, kit::most_shared()));
  std::string reason;
  try {
    kit::allow_shared(any_kernel, kit::most_shared() + 1024);
  } catch (const kit::Skip& skip) {
    reason = skip.what();
  }
  const int kilobytes = kit::most_shared() / 1024 + 1;
  CHECK(reason == "needs " + std::to_string(kilobytes) + " KB of shared memory a block");
}

TEST_CASE("as many blocks are resident as all multiprocessors have room for") {
  const bench::DeviceFacts device = bench::query_device();
  if (!device.available) SKIP_TEST("needs a GPU");
  const int room = device.max_threads_per_multiprocessor;
  CHECK(kit::resident_blocks(any_kernel, 1024) == device.multiprocessors * (room / 1024));
  CHECK(kit::resident_blocks(any_kernel, 512) == device.multiprocessors * (room / 512));
}

TEST_CASE("each of several launches in a row has a slot of its own, all of them in the variable") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  kit::WorkspaceRing<Slot, 8> slots(slots_of_test);
  void* first = nullptr;
  CUDA_CHECK(cudaGetSymbolAddress(&first, slots_of_test));
  for (int turn = 0; turn < 3; ++turn) {
    for (int launch = 0; launch < 8; ++launch) {
      CHECK(slots.next() == static_cast<Slot*>(first) + launch);
    }
  }
}

TEST_CASE("threads that launch at the same time get different slots") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  kit::WorkspaceRing<Slot, 8> slots(slots_of_test);
  std::vector<Slot*> got(8);
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&slots, &got, i] { got[i] = slots.next(); });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(std::set<Slot*>(got.begin(), got.end()).size() == 8);
}
