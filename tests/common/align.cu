// common/kit/align.hpp: which pointers, and which rows, 16-byte accesses may begin at.
#include "common/kit/align.hpp"

#include <cstdint>

#include "tests/catch.hpp"

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
