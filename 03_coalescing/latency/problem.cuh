// Problem E: how long does a load take? One thread follows a chain of pointers: the address of each
// load is the result of the one before, so no two can overlap, and cycles / loads is the latency.
//
// The pointers form a ring: every line of an array holds, at its start, the address of the next
// line in a random order, which no prefetching can guess.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "common/bench/compare.hpp"
#include "common/bench/device_facts.cuh"
#include "common/bench/guarded_array.cuh"
#include "common/bench/memory_need.hpp"
#include "common/bench/report.hpp"
#include "common/bench/variant.cuh"
#include "common/kit/random.cuh"

namespace latency {

class Ring {
 public:
  static constexpr int kLineBytes = 128;
  static constexpr int kSlotsPerLine = kLineBytes / sizeof(std::uint64_t);

  // `bytes`: a multiple of a line. The ring holds device addresses: without a device it is empty.
  Ring(const std::string& name, std::int64_t bytes, const bench::DeviceFacts& device,
       std::uint64_t seed)
      : slots(name, bench::Role::input, bytes / sizeof(std::uint64_t)) {
    if (!device.available) return;
    base_ = reinterpret_cast<std::uint64_t>(slots.device_data());
    std::fill_n(slots.pristine(), slots.size(), 0);
    const std::int64_t lines = bytes / kLineBytes;
    std::vector<std::int64_t> order(lines);
    std::iota(order.begin(), order.end(), 0);
    for (std::int64_t i = lines - 1; i > 0; --i) {
      // Positions 1 .. lines - 1 are shuffled (Fisher and Yates); the chain begins at line 0.
      const std::int64_t j = 1 + kit::random_bits(seed, i) % i;
      std::swap(order[i], order[j]);
    }
    for (std::int64_t i = 0; i < lines; ++i) {
      slots.pristine()[order[i] * kSlotsPerLine] = address(order[(i + 1) % lines]);
    }
  }

  int lines() const { return static_cast<int>(slots.size() / kSlotsPerLine); }

  // Where a chain from the first line stands after `hops` loads, in bytes from there.
  std::uint64_t offset_after(std::int64_t hops) const {
    std::uint64_t offset = 0;
    for (std::int64_t hop = 0; hop < hops; ++hop) {
      offset = slots.pristine()[offset / sizeof(std::uint64_t)] - base_;
    }
    return offset;
  }

  bench::GuardedArray<std::uint64_t> slots;

 private:
  std::uint64_t address(std::int64_t line) const { return base_ + line * kLineBytes; }

  std::uint64_t base_ = 0;
};

struct Latency {
  static constexpr const char* name = "latency";
  static constexpr int kHops = 4096;  // timed loads of a chain

  static constexpr std::int64_t kSmallBytes = 16 << 10;  // fits into L1, and into shared memory
  static constexpr std::int64_t kMiddleBytes = 2 << 20;  // too large for any L1, fits into L2
  static constexpr std::int64_t kLargeBytes = 32 << 20;  // far more lines than a chain visits

  bool has_clock;  // kernels that run on a CPU have nothing to measure here
  Ring small, middle, large;
  bench::GuardedArray<std::uint64_t> result;  // where the chain ended, and the cycles it took

  Latency(const bench::DeviceFacts& device, std::uint64_t seed)
      : has_clock(device.is_real_gpu()),
        small("small", kSmallBytes, device, seed),
        middle("middle", kMiddleBytes, device, seed),
        large("large", kLargeBytes, device, seed),
        result("result", bench::Role::output, 2) {}

  template <class Visit>
  void each_array(Visit visit) {
    visit(small.slots);
    visit(middle.slots);
    visit(large.slots);
    visit(result);
  }

  // The chain must have ended `end` bytes into its ring, and a load takes more than a cycle.
  bench::Comparison check_end(std::uint64_t end) const {
    const std::uint64_t cycles = result.fetched()[1];
    const bool plausible = cycles > kHops && cycles < std::uint64_t{kHops} * 100'000;
    const std::uint64_t expected[2] = {end, plausible ? cycles : kHops};
    return bench::compare(result.fetched(), expected, 2, 0.0);
  }
  bench::Comparison check() const { return {}; }  // every variant knows its own ring

  bench::Sizes sizes() const { return {{"hops", kHops}}; }
  double bytes() const { return 0; }
  double flops() const { return 0; }

  // For the check before anything is allocated.
  static bench::MemoryNeed memory() {
    return {2.0 * (kSmallBytes + kMiddleBytes + kLargeBytes),
            1.0 * (kSmallBytes + kMiddleBytes + kLargeBytes)};
  }
};

// A chain in one of the rings: `run` starts it, and it takes `laps` laps and then kHops loads.
template <class Run>
bench::Variant<Latency> latency_chain(const std::string& name, const std::string& idea,
                                      Ring Latency::*ring, int laps, Run run) {
  auto variant = bench::device_variant<Latency>(name, idea, [run](Latency& p, cudaStream_t stream) {
    if (!p.has_clock) throw kit::Skip("needs the clock of a GPU");
    run(p, stream);
  });
  variant.check = [=](const Latency& p) {
    const Ring& chain = p.*ring;
    return p.check_end(chain.offset_after(laps * chain.lines() + Latency::kHops));
  };
  return variant;
}

}  // namespace latency
