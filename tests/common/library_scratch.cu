// common/library_scratch.cuh: memory for a library is asked for once a size.
#include "common/library_scratch.cuh"

#include "common/device_facts.cuh"
#include "tests/catch.hpp"

TEST_CASE("memory is asked for once a size, and copies share it") {
  if (!common::query_device().available) SKIP_TEST("needs a GPU");
  int asked = 0;
  const auto query = [&asked] {
    ++asked;
    return std::size_t{100};
  };
  const common::LibraryScratch scratch, copy = scratch;
  const auto first = scratch(5, query);
  CHECK(first.bytes == 100);
  CHECK(first.data != nullptr);
  CHECK(copy(5, query).data == first.data);
  CHECK(asked == 1);
  copy(6, query);
  CHECK(asked == 2);
}

TEST_CASE("a library that needs no memory still gets an address: null would mean a question") {
  if (!common::query_device().available) SKIP_TEST("needs a GPU");
  const auto nothing = common::LibraryScratch()(5, [] { return std::size_t{0}; });
  CHECK(nothing.bytes == 0);
  CHECK(nothing.data != nullptr);
}
