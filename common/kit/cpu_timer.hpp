// SPDX-License-Identifier: MIT
// Wall-clock timer for work on the CPU.
#pragma once

#ifdef _OPENMP
#include <omp.h>
#endif

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace kit {

// The middle one of the times: one sample that something else disturbed does not move it.
inline double median(std::vector<double> times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

class CpuTimer {
 public:
  void start() { start_ = Clock::now(); }

  // Milliseconds since start().
  double elapsed_ms() const {
    return std::chrono::duration<double, std::milli>(Clock::now() - start_).count();
  }

  // Milliseconds that work() takes: the median of up to five runs after one that warms up caches
  // and pages. What takes a second runs once. prepare() comes before each run and is not timed.
  template <class Prepare, class Work>
  double median_ms(Prepare prepare, Work work) {
    std::vector<double> times;
    const CpuTimer whole;
    do {
      prepare();
      start();
      work();
      times.push_back(elapsed_ms());
    } while (times.size() < 6 && whole.elapsed_ms() < 1000);
    if (times.size() > 1) times.erase(times.begin());
    return median(times);
  }

 private:
  using Clock = std::chrono::steady_clock;  // never set back, unlike the time of day
  Clock::time_point start_ = Clock::now();
};

// With more the run-time library of OpenMP ends without a word: its stack is full.
constexpr int kMostThreads = 4096;

// Threads that share a loop under `#pragma omp parallel for`; 0: built without -fopenmp, which
// makes of it a loop on one core. Throws std::invalid_argument if so many cannot start.
inline int openmp_threads() {
#ifdef _OPENMP
  const int threads = omp_get_max_threads();
  if (threads <= kMostThreads) return threads;
  throw std::invalid_argument("OMP_NUM_THREADS asks for " + std::to_string(threads) +
                              " threads: at most " + std::to_string(kMostThreads) +
                              " are possible");
#else
  return 0;
#endif
}

}  // namespace kit
