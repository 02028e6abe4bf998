// Wall-clock timer for work on the CPU.
#pragma once

#include <chrono>

namespace kit {

class CpuTimer {
 public:
  void start() { start_ = Clock::now(); }

  // Milliseconds since start().
  double elapsed_ms() const {
    return std::chrono::duration<double, std::milli>(Clock::now() - start_).count();
  }

 private:
  using Clock = std::chrono::steady_clock;  // never set back, unlike the time of day
  Clock::time_point start_ = Clock::now();
};

}  // namespace kit
