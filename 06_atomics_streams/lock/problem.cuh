// The problem: the largest of n floats and where it is. Two words that must change together, so no
// atomic operation on one of them is enough.
#pragma once

#include <cstdint>
#include <cstring>

#include "06_atomics_streams/lock/kit/record.cuh"
#include "common/bench/compare.hpp"
#include "common/bench/guarded_array.cuh"
#include "common/bench/memory_need.hpp"
#include "common/bench/report.hpp"
#include "common/kit/random.cuh"

namespace lock {

struct Lock {
  static constexpr const char* name = "lock";

  std::int64_t n;
  bench::GuardedArray<float> x;
  // The record: {value, index}, kept as bits so that the rungs may pack it as they like.
  bench::GuardedArray<unsigned> record;
  bench::GuardedArray<unsigned> lock;  // 0: free. Must be free again afterwards
  unsigned expected[2] = {0, kNowhere};

  // n < 2^32 - 1. Only 1000 different values, so that ties occur: the first index wins.
  Lock(std::int64_t n, std::uint64_t seed)
      : n(n),
        x("x", bench::Role::input, n),
        record("record", bench::Role::output, 2),
        lock("lock", bench::Role::in_out, 1) {
    *lock.pristine() = 0;
    float most = kLowest;
    std::int64_t where = kNowhere;
    for (std::int64_t i = 0; i < n; ++i) {
      x.pristine()[i] = static_cast<float>(static_cast<int>(1000 * kit::random_float(seed, i)));
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
  bench::Comparison check() const {
    const bench::Comparison words = bench::compare(record.fetched(), expected, 2, 0.0);
    const unsigned free = 0;
    return words.right() ? bench::compare(lock.fetched(), &free, 1, 0.0) : words;
  }

  bench::Sizes sizes() const { return {{"n", n}}; }
  double bytes() const { return sizeof(float) * static_cast<double>(n); }
  double flops() const { return 0; }

  static bench::MemoryNeed memory(std::int64_t n) {
    return {2.0 * sizeof(float) * static_cast<double>(n), sizeof(float) * static_cast<double>(n)};
  }
};

}  // namespace lock
