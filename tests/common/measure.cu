// common/bench/measure.hpp: medians, spread, when the loop stops, and that candidates take turns.
#include "common/bench/measure.hpp"

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "common/kit/cpu_timer.hpp"
#include "tests/catch.hpp"

using bench::measure_interleaved;
using bench::MeasurePlan;
using bench::summarize;

TEST_CASE("summary of samples") {
  SECTION("odd count: the middle one") {
    const auto timing = summarize({3.0, 1.0, 2.0});
    CHECK(timing.median_ms == 2.0);
    CHECK(timing.min_ms == 1.0);
    CHECK(timing.max_ms == 3.0);
    CHECK(timing.samples == 3);
    // Standard deviation 1, so the standard error of the mean is 1 / sqrt(3); the mean is 2.
    CHECK(std::fabs(timing.relative_error - 1 / std::sqrt(3.0) / 2) < 1e-12);
  }
  SECTION("even count: between the two in the middle") {
    CHECK(summarize({4.0, 1.0, 2.0, 100.0}).median_ms == 3.0);
  }
  SECTION("one sample has no spread") {
    CHECK(summarize({5.0}).median_ms == 5.0);
    CHECK(summarize({5.0}).relative_error == 0.0);
  }
  SECTION("none") { CHECK(summarize({}).samples == 0); }
}

TEST_CASE("a fixed number of repeats is kept to") {
  MeasurePlan plan;
  plan.repeats = 7;
  int calls = 0;
  const auto timings = measure_interleaved({[&calls] { return 1.0 + ++calls; }}, plan);
  CHECK(calls == 7);
  CHECK(timings[0].samples == 7);
}

TEST_CASE("steady samples end the loop at the minimum") {
  MeasurePlan plan;
  plan.min_samples = 12;
  const auto timings = measure_interleaved({[] { return 2.0; }}, plan);
  CHECK(timings[0].samples == 12);
  CHECK(timings[0].median_ms == 2.0);
}

TEST_CASE("unsteady samples go on until the time or the count is up") {
  int calls = 0;
  const std::function<double()> unsteady = [&calls] { return ++calls % 2 == 0 ? 1.0 : 100.0; };
  SECTION("count") {
    MeasurePlan plan;
    plan.max_samples = 50;
    CHECK(measure_interleaved({unsteady}, plan)[0].samples == 50);
  }
  SECTION("time") {
    MeasurePlan plan;
    plan.seconds_each = 0;
    CHECK(measure_interleaved({unsteady}, plan)[0].samples == 1);
  }
}

TEST_CASE("candidates take turns, and one unsteady candidate keeps all of them going") {
  std::string order;
  MeasurePlan plan;
  plan.min_samples = 2;
  plan.max_samples = 4;
  int calls = 0;
  const auto steady = [&order] {
    order += 'a';
    return 1.0;
  };
  const auto unsteady = [&order, &calls] {
    order += 'b';
    return ++calls % 2 == 0 ? 1.0 : 9.0;
  };
  const auto timings = measure_interleaved({steady, unsteady}, plan);
  REQUIRE(order.size() == 8);
  for (int round = 0; round < 4; ++round) CHECK(order[2 * round] != order[2 * round + 1]);
  CHECK(timings[0].samples == 4);
}

TEST_CASE("the order of candidates changes from round to round") {
  std::string order;
  MeasurePlan plan;
  plan.repeats = 100;
  const auto named = [&order](char name) {
    return [&order, name] {
      order += name;
      return 1.0;
    };
  };
  measure_interleaved({named('a'), named('b'), named('c')}, plan);
  REQUIRE(order.size() == 300);
  int first[3] = {};  // rounds that begin with a, b, c
  for (int round = 0; round < 100; ++round) ++first[order[3 * round] - 'a'];
  // 33 each on average, standard deviation 4.7.
  for (const int count : first) CHECK(count > 15);
}

TEST_CASE("warm-up runs are not counted") {
  int calls = 0;
  MeasurePlan plan;
  plan.repeats = 1;
  plan.warm_up_seconds = 1e-9;
  const auto timings = measure_interleaved({[&calls] { return 1.0 * ++calls; }}, plan);
  CHECK(timings[0].samples == 1);
  CHECK(timings[0].median_ms >= 2.0);
}

// A sampler that never settles, each sample a millisecond long.
std::function<double()> unsteady_millisecond() {
  return [calls = 0]() mutable {
    const kit::CpuTimer clock;
    while (clock.elapsed_ms() < 1) {
    }
    return ++calls % 2 == 0 ? 1.0 : 100.0;
  };
}

TEST_CASE("the warm-up goes on for as long as it was asked to") {
  MeasurePlan plan;
  plan.repeats = 1;
  plan.warm_up_seconds = 0.2;
  const kit::CpuTimer clock;
  measure_interleaved({unsteady_millisecond()}, plan);
  CHECK(clock.elapsed_ms() >= 200);
}

TEST_CASE("the time cap grows with the number of candidates") {
  MeasurePlan plan;
  plan.seconds_each = 0.05;
  plan.max_samples = 10'000;
  const std::vector<std::function<double()>> six(6, unsteady_millisecond());
  const kit::CpuTimer clock;
  measure_interleaved(six, plan);
  CHECK(clock.elapsed_ms() >= 300);
}

TEST_CASE("unless told otherwise: ten samples at least, and an error of the mean below 1 %") {
  CHECK(measure_interleaved({[] { return 2.0; }}, MeasurePlan{})[0].samples == 10);
  int calls = 0;  // 10 % around the mean: n samples have an error of 10 % / sqrt(n - 1)
  const auto timing =
      measure_interleaved({[&calls] { return ++calls % 2 == 0 ? 0.9 : 1.1; }}, MeasurePlan{})[0];
  CHECK(timing.samples > 95);
  CHECK(timing.samples < 110);
}
