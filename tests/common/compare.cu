// common/bench/compare.hpp: a NaN cannot pass, and the first wrong element is named.
#include "common/bench/compare.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "tests/catch.hpp"

using bench::compare;

TEST_CASE("equal arrays are right") {
  const std::vector<float> a = {1.0f, -2.5f, 0.0f};
  const auto result = compare(a.data(), a.data(), 3, 0.0);
  CHECK(result.right());
  CHECK(result.max_error == 0.0);
  CHECK(result.describe() == "right");
}

TEST_CASE("two neighbouring floats are told apart") {
  const float expected = 1, actual = std::nextafter(expected, 2.0f);
  const auto result = bench::compare(&actual, &expected, 1, 0.0);
  CHECK(result.describe() == "1 of 1 wrong, the first at 0: expected 1, got 1.00000012");
}

TEST_CASE("no elements are right") {
  const std::vector<float> none;
  CHECK(compare(none.data(), none.data(), 0, 0.0).right());
}

TEST_CASE("the first wrong element is named, and the errors are counted") {
  const std::vector<float> expected = {1, 2, 3, 4};
  const std::vector<float> actual = {1, 2.5f, 3, 5};
  const auto result = compare(actual.data(), expected.data(), 4, 0.25);
  CHECK(result.wrong == 2);
  CHECK(result.first_wrong == 1);
  CHECK(result.max_error == 1.0);
  CHECK(result.describe() == "2 of 4 wrong, the first at 1: expected 2, got 2.5");
}

TEST_CASE("an error on the bound is right, one above it is wrong") {
  const std::vector<double> expected = {1.0};
  const std::vector<double> on_bound = {1.25};
  const std::vector<double> above = {std::nextafter(1.25, 2.0)};
  CHECK(compare(on_bound.data(), expected.data(), 1, 0.25).right());
  CHECK_FALSE(compare(above.data(), expected.data(), 1, 0.25).right());
}

TEST_CASE("NaN is wrong whatever the bound") {
  const std::vector<float> expected = {1, 2};
  const std::vector<float> actual = {1, std::numeric_limits<float>::quiet_NaN()};
  const auto result =
      compare(actual.data(), expected.data(), 2, std::numeric_limits<double>::infinity());
  CHECK(result.wrong == 1);
  CHECK(result.first_wrong == 1);
  CHECK(std::isnan(result.max_error));
}

TEST_CASE("infinity equals infinity, and nothing else") {
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> expected = {inf, -inf, 1};
  const std::vector<float> actual = {inf, inf, inf};
  const auto result = compare(actual.data(), expected.data(), 3, 1.0);
  CHECK(result.wrong == 2);
  CHECK(result.first_wrong == 1);
}

TEST_CASE("poison is recognised as never written") {
  const std::vector<float> expected = {1, 2};
  std::vector<float> actual = {1, 2};
  std::memset(&actual[1], bench::kPoisonByte, sizeof(float));
  const auto result = compare(actual.data(), expected.data(), 2, 0.5);
  CHECK(result.unwritten == 1);
  CHECK(result.describe() == "1 of 2 wrong, the first at 1: expected 2, got NaN (1 never written)");
}

TEST_CASE("a bound per element") {
  const std::vector<float> expected = {10, 10};
  const std::vector<float> actual = {11, 11};
  const auto result =
      compare(actual.data(), expected.data(), 2, [](std::int64_t i) { return i == 0 ? 2.0 : 0.5; });
  CHECK(result.wrong == 1);
  CHECK(result.first_wrong == 1);
}

TEST_CASE("of several wrong elements the first is named, also where each thread finds some") {
  std::vector<float> expected(100'000, 1.0f), actual = expected;
  for (const int i : {12'345, 12'346, 50'000, 99'999}) actual[i] = 2;
  const auto result = compare(actual.data(), expected.data(), 100'000, 0.5);
  CHECK(result.wrong == 4);
  CHECK(result.first_wrong == 12'345);
}

TEST_CASE("only an element whose every byte is poison was never written") {
  const std::vector<float> expected = {1, 1};
  std::vector<float> actual = {1, 1};
  const unsigned char one_byte[] = {0x00, 0xFF, 0x00, 0x40};
  std::memcpy(&actual[1], one_byte, sizeof(float));
  const auto result = compare(actual.data(), expected.data(), 2, 0.5);
  CHECK(result.wrong == 1);
  CHECK(result.unwritten == 0);
}

TEST_CASE("parts add up to a whole, in whatever order they come") {
  const std::vector<float> expected = {1, 2, 3, 4};
  const std::vector<float> actual = {1, 2.5f, 3, 6};
  const auto part = [&](int first) {
    return compare(actual.data() + first, expected.data() + first, 2, 0.25);
  };
  for (const bool second_first : {false, true}) {
    CAPTURE(second_first);
    bench::Comparison all;
    for (const int first : {second_first ? 2 : 0, second_first ? 0 : 2}) {
      all.add(part(first), first);
    }
    CHECK(all.count == 4);
    CHECK(all.wrong == 2);
    CHECK(all.first_wrong == 1);
    CHECK(all.expected == 2);
    CHECK(all.actual == 2.5);
    CHECK(all.max_error == 2);
  }
}

TEST_CASE("a NaN in one part is the largest error of the whole") {
  const float number = 1, nan = std::numeric_limits<float>::quiet_NaN(), three = 3;
  const auto wrong = compare(&nan, &number, 1, 0.5), off = compare(&three, &number, 1, 0.5);
  bench::Comparison nan_first, nan_last;
  nan_first.add(wrong, 0), nan_first.add(off, 1);
  nan_last.add(off, 0), nan_last.add(wrong, 1);
  CHECK(std::isnan(nan_first.max_error));
  CHECK(std::isnan(nan_last.max_error));
  CHECK(nan_first.wrong == 2);
}

TEST_CASE("what nobody wrote is counted over all parts") {
  const std::vector<float> expected = {1, 2};
  std::vector<float> actual(2);
  std::memset(actual.data(), bench::kPoisonByte, 2 * sizeof(float));
  bench::Comparison all;
  for (const int i : {0, 1}) all.add(compare(&actual[i], &expected[i], 1, 0.5), i);
  CHECK(all.unwritten == 2);
}
