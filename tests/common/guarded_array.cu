// common/bench/guarded_array.cuh: what a variant must not do to an array is found, wherever it did
// it.
#include "common/bench/guarded_array.cuh"

#include <cstdint>
#include <string>

#include "common/bench/device_facts.cuh"
#include "tests/catch.hpp"

namespace {

using bench::Role;
using bench::Side;

// What is found after `fault(data)` on a fresh array of n elements, on the host.
template <class Fault>
std::string damage_after(Role role, std::int64_t n, Fault fault) {
  bench::GuardedArray<float> array("y", role, n);
  if (role != Role::output) {
    for (std::int64_t i = 0; i < n; ++i) array.pristine()[i] = static_cast<float>(i) + 0.5f;
  }
  array.reset(Side::host);
  fault(array.host_data());
  array.fetch(Side::host);
  return array.damage();
}

#if SIMT_INSTRUMENTED
__global__ void shift(const float* from, float* to, int by) {
  to[threadIdx.x] = from[static_cast<int>(threadIdx.x) + by];
}
#endif

}  // namespace

#if SIMT_INSTRUMENTED
TEST_CASE("a kernel that reads a guard is named by simt's checks") {
  bench::GuardedArray<float> from("x", Role::in_out, 32), to("y", Role::output, 32);
  for (const int by : {-1, 0, 1}) {
    INFO(by);
    from.reset(Side::device), to.reset(Side::device);
    shift<<<1, 32>>>(from.device_data(), to.device_data(), by);
    to.fetch(Side::device);
    const auto reports = simt::check_reports();
    REQUIRE(reports.size() == (by == 0 ? 0 : 1));
    if (by != 0) CHECK(reports[0].check == "out-of-bounds");
    CHECK(to.damage() == "");
  }
}
#endif

TEST_CASE("an array that was treated well shows no damage") {
  CHECK(damage_after(Role::input, 1000, [](float*) {}).empty());
  CHECK(damage_after(Role::output, 1000, [](float* y) { y[0] = y[999] = 1; }).empty());
  CHECK(damage_after(Role::in_out, 1000, [](float* y) { y[0] = y[999] = 1; }).empty());
}

TEST_CASE("a stray write is found wherever in the guard it fell, and told by element") {
  for (const std::int64_t beyond : {0, 1, 24, 25, 100, 1023}) {
    INFO(beyond);
    const std::string end = std::to_string(10 + beyond), start = std::to_string(-1 - beyond);
    CHECK(damage_after(Role::output, 10, [&](float* y) { y[10 + beyond] = 1; }) ==
          "wrote past the end of y (10 elements): at " + end);
    CHECK(damage_after(Role::output, 10, [&](float* y) { y[-1 - beyond] = 1; }) ==
          "wrote before the start of y (10 elements): at " + start);
  }
}

TEST_CASE("how far a stray write went is told") {
  const auto tile = [](float* y) {
    for (int i = 0; i < 16; ++i) y[i] = 1;
  };
  CHECK(damage_after(Role::output, 10, tile) ==
        "wrote past the end of y (10 elements): at 10, and 5 more up to 15");
}

TEST_CASE("what lies behind an array is nothing that a sum would swallow, and no poison") {
  damage_after(Role::input, 10, [](const float* y) {
    for (const int i : {-1, 10}) {
      CHECK(y[i] > 1e38f);
      CHECK_FALSE(bench::is_poison(y[i]));
    }
  });
}

TEST_CASE("a change of any element of an input is found") {
  for (const std::int64_t i : {0, 1, 499, 998, 999}) {
    CHECK(damage_after(Role::input, 1000, [i](float* y) { y[i] += 1; }) ==
          "changed its input y, first at " + std::to_string(i));
  }
}

TEST_CASE("every reset brings back what a variant may rely on, on both sides") {
  bench::GuardedArray<float> array("y", Role::in_out, 100);
  for (int i = 0; i < 100; ++i) array.pristine()[i] = static_cast<float>(i);
  for (const Side side : {Side::host, Side::device}) {
    if (side == Side::device && !bench::query_device().available) SKIP_TEST("needs a GPU");
    array.reset(side);
    array.fetch(side);
    CHECK(array.fetched()[0] == 0);
    CHECK(array.fetched()[99] == 99);
    CHECK(array.damage() == "");
    array.host_data()[99] = -1;  // what fetched() shows is stale now, and so is the host's copy
  }
}
