// common/kit/align.hpp: which pointers 16-byte accesses may begin at.
#include "common/kit/align.hpp"

#include "tests/catch.hpp"

TEST_CASE("multiples of 16 bytes are aligned, and nothing else is") {
  alignas(16) char bytes[33] = {};
  for (int i = 0; i <= 32; ++i) {
    INFO(i);
    CHECK(kit::is_aligned_to_16(bytes + i) == (i % 16 == 0));
  }
  CHECK(kit::is_aligned_to_16(nullptr));
}

TEST_CASE("one pointer that is not aligned is enough to refuse, whichever it is") {
  alignas(16) const float in[8] = {};
  alignas(16) double out[4] = {};
  kit::require_aligned_to_16(in, out, in + 4);
  CHECK_THROWS_AS(kit::require_aligned_to_16(in + 1, out, in), kit::Skip);
  CHECK_THROWS_AS(kit::require_aligned_to_16(in, out + 1, in), kit::Skip);
  CHECK_THROWS_AS(kit::require_aligned_to_16(in, out, in + 2), kit::Skip);
}
