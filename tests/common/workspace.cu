// common/kit/workspace.cuh: memory for a library is asked for once a size.
#include "common/kit/workspace.cuh"

#include <vector>

#include "common/bench/device_facts.cuh"
#include "tests/catch.hpp"

TEST_CASE("memory is asked for once a size, and copies share it") {
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
  const kit::Workspace scratch, copy = scratch;
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
  kit::Workspace()(5, [&](void* memory, std::size_t& bytes) {
    if (memory == nullptr) bytes = 0;
    CHECK(bytes == 0);
    worked += memory != nullptr;
  });
  CHECK(worked == 1);
}
