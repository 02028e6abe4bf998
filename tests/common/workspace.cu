// common/kit/workspace.cuh: memory beside the problem's arrays is allocated once, and a library
// asked once a size.
#include "common/kit/workspace.cuh"

#include <vector>

#include "common/bench/device_facts.cuh"
#include "common/kit/check.cuh"
#include "tests/catch.hpp"

TEST_CASE("the same memory serves whoever asks for no more, and copies share it") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  kit::Workspace workspace;
  const kit::Workspace copy = workspace;
  float* const first = workspace.get<float>(100);
  CHECK(copy.get<float>(50) == first);
  CHECK(workspace.asked_bytes() == 400);
  CHECK(workspace.get<double>(100) != nullptr);
  CHECK(copy.held_bytes() == 800);
  workspace.forget();
  CHECK(workspace.asked_bytes() == 0);
  CHECK_THROWS_AS(copy.get<float>(std::int64_t{1} << 50), kit::Skip);
}

TEST_CASE("a library is asked once a size, and copies share its memory") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  int asked = 0;
  std::vector<void*> given;
  const auto call = [&](void* memory, std::size_t& bytes) {
    if (memory == nullptr) {
      ++asked;
      bytes = 100;
    } else {
      CHECK(bytes == 100);
      given.push_back(memory);
    }
  };
  const kit::LibraryCall scratch, copy = scratch;
  scratch(5, call);
  copy(5, call);
  REQUIRE(given.size() == 2);
  CHECK(given[0] == given[1]);
  CHECK(asked == 1);
  copy(6, call);
  CHECK(asked == 2);
  CHECK(given.size() == 3);
}

TEST_CASE("a library that needs no memory still gets an address: null would mean a question") {
  if (!bench::query_device().available) SKIP_TEST("needs a GPU");
  int worked = 0;
  kit::LibraryCall()(5, [&](void* memory, std::size_t& bytes) {
    if (memory == nullptr) bytes = 0;
    CHECK(bytes == 0);
    worked += memory != nullptr;
  });
  CHECK(worked == 1);
}
