// common/alignment.hpp: which pointers 16-byte accesses may begin at.
#include "common/alignment.hpp"

#include "tests/catch.hpp"

TEST_CASE("multiples of 16 bytes are aligned, and nothing else is") {
  alignas(16) char bytes[33] = {};
  for (int i = 0; i <= 32; ++i) {
    INFO(i);
    CHECK(common::is_aligned_to_16(bytes + i) == (i % 16 == 0));
  }
  CHECK(common::is_aligned_to_16(nullptr));
}
