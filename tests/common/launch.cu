// common/kit/launch.cuh: what launches ask about the device, and of it.
#include "common/kit/launch.cuh"

#include <string>

#include "common/bench/device_facts.cuh"
#include "common/kit/skip.hpp"
#include "tests/catch.hpp"

namespace {

__global__ void any_kernel() {}

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
