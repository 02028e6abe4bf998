// The index of `lock`: every way to keep two words together, in reading order.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "06_atomics_streams/lock/01_sequential.hpp"
#include "06_atomics_streams/lock/02_per_thread.cuh"
#include "06_atomics_streams/lock/03_per_warp.cuh"
#include "06_atomics_streams/lock/04_packed.cuh"
#include "06_atomics_streams/lock/problem.cuh"
#include "common/bench/harness.cuh"
#include "common/bench/ladder.cuh"
#include "common/bench/variant.cuh"

namespace lock {

constexpr std::int64_t kMostLocks = 1 << 16;  // taken one by one, 1 to 5 microseconds each

bench::Ladder<Lock> ladder() {
  using bench::device_variant;
  const auto record = [](Lock& p) { return reinterpret_cast<Record*>(p.record.device_data()); };
  bench::Ladder<Lock> ladder;
  ladder.name = Lock::name;
  ladder.variants = {
      bench::baseline<Lock>("sequential", "two assignments, one core",
                            [](Lock& p) {
                              float largest = 0;
                              unsigned* words = p.record.host_data();
                              lock_sequential(p.x.host_data(), p.n, &largest, &words[1]);
                              std::memcpy(&words[0], &largest, sizeof largest);
                            }),
      device_variant<Lock>("per_thread", "every thread takes the lock",
                           [record](Lock& p, cudaStream_t stream) {
                             lock_per_thread(p.x.device_data(), p.n, record(p),
                                             p.lock.device_data(), stream);
                           }),
      device_variant<Lock>("per_warp", "one lane of each warp takes the lock",
                           [record](Lock& p, cudaStream_t stream) {
                             lock_per_warp(p.x.device_data(), p.n, record(p), p.lock.device_data(),
                                           stream);
                           }),
      device_variant<Lock>("packed", "both words in one 64-bit atomic, no lock",
                           [record](Lock& p, cudaStream_t stream) {
                             lock_packed(p.x.device_data(), p.n, record(p), stream);
                           }),
  };
  ladder.settings = {bench::number(
      "n", "elements of every problem, of the lock at most 65536 (default: each its own)", 1 << 12,
      1 << 12, 1, 0xfffffffe)};
  ladder.make = [](const bench::Settings& settings, const bench::RunSettings& run) {
    return std::make_unique<Lock>(std::min(settings["n"], kMostLocks), run.seed);
  };
  ladder.memory = [](const bench::Settings& settings, const bench::RunSettings&) {
    return Lock::memory(std::min(settings["n"], kMostLocks));
  };
  return ladder;
}

}  // namespace lock

namespace ladders {

bench::Ladders lock() { return {lock::ladder()}; }

}  // namespace ladders
