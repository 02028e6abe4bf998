// The measuring loop: repeat until the figure is steady, several candidates taking turns.
//
// Candidates are interleaved (A B C A B C ...): clocks, temperature and neighbours change over
// seconds, and whoever is measured in one piece gets one piece of that weather.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <numeric>
#include <random>
#include <vector>

#include "common/kit/cpu_timer.hpp"

namespace bench {

// Milliseconds of one sample each; summarised by the median, which one slow sample cannot move.
struct Timing {
  double median_ms = 0;
  double min_ms = 0;
  double max_ms = 0;
  double relative_error = 0;  // standard error of the mean over the mean
  int samples = 0;
};

struct MeasurePlan {
  int repeats = 0;       // samples of each candidate; 0: until steady
  int min_samples = 10;  // fewer say nothing about the spread
  int max_samples = 1000;
  double target_error = 0.01;  // steady: the standard error of the mean is below 1 %
  double seconds_each = 1.0;   // time cap per candidate, warm-up apart
  double warm_up_seconds = 0;  // taking turns too; at least one round if > 0
};

inline Timing summarize(std::vector<double> samples_ms) {
  Timing timing;
  const std::size_t n = samples_ms.size();
  if (n == 0) return timing;
  std::sort(samples_ms.begin(), samples_ms.end());
  timing.samples = static_cast<int>(n);
  timing.min_ms = samples_ms.front();
  timing.max_ms = samples_ms.back();
  timing.median_ms = 0.5 * (samples_ms[(n - 1) / 2] + samples_ms[n / 2]);
  if (n > 1) {
    const double mean = std::accumulate(samples_ms.begin(), samples_ms.end(), 0.0) / n;
    double squares = 0;
    for (double ms : samples_ms) squares += (ms - mean) * (ms - mean);
    const double standard_error = std::sqrt(squares / (n - 1) / n);
    timing.relative_error = mean > 0 ? standard_error / mean : 0;
  }
  return timing;
}

// Runs each sampler once a round until all are steady or the time is up; a sampler takes one sample
// and returns its milliseconds. The order is drawn anew for every round: where power is the limit,
// whoever follows a light kernel finds a higher clock. `progress(done, most)` hears of every round.
inline std::vector<Timing> measure_interleaved(
    const std::vector<std::function<double()>>& samplers, const MeasurePlan& plan,
    const std::function<void(int, int)>& progress = [](int, int) {}) {
  kit::CpuTimer clock;
  if (plan.warm_up_seconds > 0) {
    do {
      for (const auto& sample : samplers) sample();
    } while (clock.elapsed_ms() < 1e3 * plan.warm_up_seconds);
  }

  const int most = plan.repeats > 0 ? plan.repeats : plan.max_samples;
  const double budget_ms = 1e3 * plan.seconds_each * static_cast<double>(samplers.size());
  std::vector<std::vector<double>> samples(samplers.size());
  const auto steady = [&plan](const std::vector<double>& ms) {
    return summarize(ms).relative_error < plan.target_error;
  };
  std::vector<std::size_t> order(samplers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937 random(1);
  clock.start();
  for (int round = 0; round < most; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t i : order) samples[i].push_back(samplers[i]());
    progress(round + 1, most);
    if (plan.repeats > 0) continue;
    const bool time_is_up = clock.elapsed_ms() > budget_ms;
    const bool enough = round + 1 >= plan.min_samples;
    if (time_is_up || (enough && std::all_of(samples.begin(), samples.end(), steady))) break;
  }

  std::vector<Timing> timings;
  for (const auto& ms : samples) timings.push_back(summarize(ms));
  return timings;
}

}  // namespace bench
