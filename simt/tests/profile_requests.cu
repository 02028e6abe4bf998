// The cost of one memory instruction, against values worked out by hand.
#include "simt/src/profile_requests.h"

#include <functional>

#include "tests/catch.hpp"

namespace {

struct Lanes {
  uint64_t address[32];
  simt::WarpAccess access;
  Lanes(unsigned size, const std::function<uint64_t(unsigned)>& of_lane, uint32_t lanes = ~0u)
      : access{lanes, size, address} {
    for (unsigned i = 0; i < 32; ++i) address[i] = of_lane(i);
  }
};

unsigned sectors(const Lanes& lanes) { return simt::global_cost(lanes.access).sectors; }
unsigned used(const Lanes& lanes) { return simt::global_cost(lanes.access).bytes_used; }
simt::SharedCost shared(const Lanes& lanes) { return simt::shared_cost(lanes.access); }

// A float every `stride` floats, from byte `start` on.
Lanes floats(unsigned stride, uint64_t start = 0x10000) {
  return Lanes(4, [=](unsigned i) { return start + 4ull * stride * i; });
}

}  // namespace

TEST_CASE("sectors of a warp's request") {
  SECTION("neighbouring floats fill 4 sectors") {
    CHECK(sectors(floats(1)) == 4);
    CHECK(used(floats(1)) == 128);
  }
  SECTION("a start one float off adds one sector") {
    CHECK(sectors(floats(1, 0x10004)) == 5);
    CHECK(used(floats(1, 0x10004)) == 128);
  }
  SECTION("a stride wastes bytes until every lane has its own sector") {
    CHECK(sectors(floats(2)) == 8);
    CHECK(sectors(floats(4)) == 16);
    CHECK(sectors(floats(8)) == 32);
    CHECK(sectors(floats(100)) == 32);
    CHECK(used(floats(8)) == 128);
  }
  SECTION("the same float for all lanes is one sector, 4 bytes of it used") {
    CHECK(sectors(floats(0)) == 1);
    CHECK(used(floats(0)) == 4);
  }
  SECTION("float2 and float4") {
    CHECK(sectors(Lanes(8, [](unsigned i) { return 8ull * i; })) == 8);
    CHECK(sectors(Lanes(16, [](unsigned i) { return 16ull * i; })) == 16);
  }
  SECTION("bytes") {
    CHECK(sectors(Lanes(1, [](unsigned i) { return 64ull + i; })) == 1);
    CHECK(used(Lanes(1, [](unsigned i) { return 64ull + i; })) == 32);
  }
  SECTION("the order of the lanes does not matter") {
    CHECK(sectors(Lanes(4, [](unsigned i) { return 4ull * (31 - i); })) == 4);
    CHECK(sectors(Lanes(4, [](unsigned i) { return 4ull * (i ^ 13); })) == 4);
  }
  SECTION("only the active lanes count") {
    CHECK(sectors(Lanes(
              4, [](unsigned i) { return 4ull * i; }, 0xff)) == 1);
    CHECK(sectors(Lanes(
              4, [](unsigned i) { return 4ull * i; }, 0x80000001)) == 2);
    CHECK(sectors(Lanes(
              4, [](unsigned) { return 0; }, 0)) == 0);
  }
  SECTION("an access across a sector border takes both") {
    CHECK(sectors(Lanes(
              8, [](unsigned) { return 28; }, 1)) == 2);
    CHECK(used(Lanes(
              8, [](unsigned) { return 28; }, 1)) == 8);
  }
}

TEST_CASE("wavefronts of a shared memory request") {
  SECTION("neighbouring words, and words in any order, go in one") {
    CHECK(shared(floats(1)).wavefronts == 1);
    CHECK(shared(Lanes(4, [](unsigned i) { return 4ull * (i * 5 % 32); })).wavefronts == 1);
  }
  SECTION("the column of a 32 x 32 tile hits one bank 32 times, with padding none twice") {
    CHECK(shared(floats(32)).degree == 32);
    CHECK(shared(floats(32)).wavefronts == 32);
    CHECK(shared(floats(33)).degree == 1);
  }
  SECTION("powers of two as strides") {
    CHECK(shared(floats(2)).degree == 2);
    CHECK(shared(floats(4)).degree == 4);
    CHECK(shared(floats(3)).degree == 1);
  }
  SECTION("one word for many lanes is a broadcast") {
    CHECK(shared(floats(0)).wavefronts == 1);
    CHECK(shared(Lanes(4, [](unsigned i) { return 4ull * (i / 2); })).wavefronts == 1);
    CHECK(shared(Lanes(1, [](unsigned i) { return i; })).wavefronts == 1);
  }
  SECTION("8 bytes go by half warps, 16 bytes by quarters") {
    const auto doubles = shared(Lanes(8, [](unsigned i) { return 8ull * i; }));
    CHECK(doubles.wavefronts == 2);
    CHECK(doubles.ideal_wavefronts == 2);
    CHECK(doubles.degree == 1);
    const auto float4s = shared(Lanes(16, [](unsigned i) { return 16ull * i; }));
    CHECK(float4s.wavefronts == 4);
    CHECK(float4s.degree == 1);
    const auto strided = shared(Lanes(8, [](unsigned i) { return 16ull * i; }));
    CHECK(strided.degree == 2);
    CHECK(strided.wavefronts == 4);
  }
}

TEST_CASE("lanes that share an address of an atomic") {
  const auto one = simt::atomic_cost(Lanes(4, [](unsigned) { return 64; }).access);
  CHECK(one.serialization == 32);
  CHECK(one.addresses == 1);
  const auto own = simt::atomic_cost(Lanes(4, [](unsigned i) { return 4ull * i; }).access);
  CHECK(own.serialization == 1);
  CHECK(own.addresses == 32);
  const auto four = simt::atomic_cost(Lanes(4, [](unsigned i) { return 4ull * (i % 4); }).access);
  CHECK(four.serialization == 8);
}
