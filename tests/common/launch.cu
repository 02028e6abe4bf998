// common/launch.cuh: what launches ask about the device, and of it.
#include "common/launch.cuh"

#include <string>

#include "common/device_facts.cuh"
#include "tests/catch.hpp"

namespace {

__global__ void any_kernel() {}

}  // namespace

TEST_CASE("parts cover a whole") {
  CHECK(common::divide_up(0, 4) == 0);
  CHECK(common::divide_up(1, 4) == 1);
  CHECK(common::divide_up(8, 4) == 2);
  CHECK(common::divide_up(9, 4) == 3);
  CHECK(common::divide_up(3'000'000'000, 2) == 1'500'000'000);
}

TEST_CASE("the device is asked what the facts about it say") {
  const common::DeviceFacts device = common::query_device();
  if (!device.available) SKIP_TEST("needs a GPU");
  CHECK(common::multiprocessor_count() == device.multiprocessors);
  CHECK(common::most_shared() == device.shared_bytes_per_block_optin);
}

TEST_CASE("all the shared memory of a block is allowed, more is a reason to skip") {
  if (!common::query_device().available) SKIP_TEST("needs a GPU");
  CHECK_NOTHROW(common::allow_shared(any_kernel, common::most_shared()));
  std::string reason;
  try {
    common::allow_shared(any_kernel, common::most_shared() + 1024);
  } catch (const common::Skip& skip) {
    reason = skip.what();
  }
  const int kilobytes = common::most_shared() / 1024 + 1;
  CHECK(reason == "needs " + std::to_string(kilobytes) + " KB of shared memory a block");
}
