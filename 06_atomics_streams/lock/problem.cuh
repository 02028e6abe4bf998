// Problem C2: the largest of n floats and where it is. Two words that must change together, so no
// atomic operation on one of them is enough.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>

#include "common/compare.hpp"
#include "common/guarded_array.cuh"
#include "common/random.cuh"
#include "common/report.hpp"

struct Lock {
  static constexpr const char* name = "lock";
  static constexpr float kLowest = -std::numeric_limits<float>::infinity();
  static constexpr unsigned kNowhere = 0xffffffffu;

  std::int64_t n;
  common::GuardedArray<float> x;
  // The record: {value, index}, kept as bits so that the rungs may pack it as they like.
  common::GuardedArray<unsigned> record;
  common::GuardedArray<unsigned> lock;  // 0: free. Must be free again afterwards
  unsigned expected[2] = {0, kNowhere};

  // n < 2^32 - 1. Only 1000 different values, so that ties occur: the first index wins.
  Lock(std::int64_t n, std::uint64_t seed)
      : n(n),
        x("x", common::Role::input, n),
        record("record", common::Role::output, 2),
        lock("lock", common::Role::in_out, 1) {
    *lock.pristine() = 0;
    float most = kLowest;
    std::int64_t where = kNowhere;
    for (std::int64_t i = 0; i < n; ++i) {
      x.pristine()[i] = static_cast<float>(static_cast<int>(1000 * common::random_float(seed, i)));
      if (x.pristine()[i] > most) {
        most = x.pristine()[i];
        where = i;
      }
    }
    std::memcpy(&expected[0], &most, sizeof most);
    expected[1] = static_cast<unsigned>(where);
  }

  template <class Visit>
  void each_array(Visit visit) {
    visit(x);
    visit(record);
    visit(lock);
  }

  // Both words exact, and the lock released.
  common::Comparison check() const {
    const common::Comparison words = common::compare(record.fetched(), expected, 2, 0.0);
    const unsigned free = 0;
    return words.right() ? common::compare(lock.fetched(), &free, 1, 0.0) : words;
  }

  common::Sizes sizes() const { return {{"n", n}}; }
  double bytes() const { return sizeof(float) * static_cast<double>(n); }
  double flops() const { return 0; }

  static double host_bytes(std::int64_t n) { return 2.0 * sizeof(float) * static_cast<double>(n); }
  static double device_bytes(std::int64_t n) { return sizeof(float) * static_cast<double>(n); }
};
