// common/kit/launch.cuh: the size of a grid, the device, 16-byte accesses, shared memory.
#include "common/kit/launch.cuh"

#include <cstdint>
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
