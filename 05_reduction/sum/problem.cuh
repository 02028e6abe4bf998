// The problem: one value out of n floats, for an operator of operators.cuh. The sum, and with the
// same code the maximum and where it is.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "05_reduction/kit/operators.cuh"
#include "common/bench/compare.hpp"
#include "common/bench/guarded_array.cuh"
#include "common/bench/memory_need.hpp"
#include "common/bench/report.hpp"
#include "common/bench/variant.cuh"

namespace reduction {

// Numbers to compare a Value by.
inline std::vector<double> numbers_of(float value) { return {value}; }
inline std::vector<double> numbers_of(Indexed value) {
  return {value.value, static_cast<double>(value.index)};
}

template <class Op>
struct Reduction {
  using Value = typename Op::Value;
  static constexpr const char* name = Op::name;

  std::int64_t n;
  bench::GuardedArray<float> x;
  bench::GuardedArray<Value> result;
  // What rungs work in, so that they need not allocate. The partial results may hold anything when
  // a rung starts (here: NaN). The counter and the words are 0, and whoever uses them must leave
  // them so.
  bench::GuardedArray<Value> partials;
  bench::GuardedArray<std::uint64_t> words;
  bench::GuardedArray<unsigned> counter;
  Value expected = Op::identity();

  Reduction(std::int64_t n, std::uint64_t seed)
      : n(n),
        x("x", bench::Role::input, n),
        result("result", bench::Role::output, 1),
        partials("partials", bench::Role::output, partials_for(n)),
        words("words", bench::Role::input, words_for(n)),
        counter("counter", bench::Role::input, 1) {
    std::fill_n(words.pristine(), words_for(n), 0);
    *counter.pristine() = 0;
    float* to = x.pristine();
#pragma omp parallel
    {
      Value mine = Op::identity();
#pragma omp for schedule(static)
      for (std::int64_t i = 0; i < n; ++i) {
        to[i] = Op::input(seed, i);
        mine = Op::combine(mine, Op::lift(to[i], i));
      }
#pragma omp critical
      expected = Op::combine(expected, mine);
    }
  }

  // Room for one value per 256 elements, one per 256 of those, and so on down to a single one; and
  // for one value per warp of a grid that fills a large GPU.
  static std::int64_t partials_for(std::int64_t n) { return n / 255 + 8192; }

  // Room for one value per 16384 elements, a word for every four bytes of it.
  static constexpr std::int64_t kElementsOfValue = 16384, kWordsOfValue = sizeof(Value) / 4;
  static std::int64_t words_for(std::int64_t n) {
    return (n / kElementsOfValue + 1) * kWordsOfValue;
  }

  template <class Visit>
  void each_array(Visit visit) {
    visit(x);
    visit(result);
    visit(partials);
    visit(words);
    visit(counter);
  }

  // Equality. For the sum that is no accident of rounding: see random_eighth.
  bench::Comparison check() const {
    const std::vector<double> actual = numbers_of(*result.fetched());
    const std::vector<double> wanted = numbers_of(expected);
    return bench::compare(actual.data(), wanted.data(), wanted.size(), 0.0);
  }

  bench::Sizes sizes() const { return {{"n", n}}; }
  double bytes() const { return sizeof(float) * static_cast<double>(n); }  // each element once
  double flops() const { return static_cast<double>(n); }                  // n - 1, to be exact

  // What a run takes, for the check before anything is allocated.
  static bench::MemoryNeed memory(std::int64_t n) {
    return {2.1 * sizeof(float) * static_cast<double>(n),
            1.1 * sizeof(float) * static_cast<double>(n)};
  }
};

using Sum = Reduction<Plus>;

// Whether a rung takes these arguments and a stream.
template <class Run, class... Arguments>
constexpr bool takes = std::is_invocable_v<Run, Arguments..., cudaStream_t>;

// A rung on the device: run(x, result, n, scratch ..., stream), whose scratch memory is partials,
// or partials and the counter, or words and the counter.
template <class Op, class Run>
bench::Variant<Reduction<Op>> sum_rung(const std::string& name, const std::string& idea, Run run) {
  using Problem = Reduction<Op>;
  using Value = typename Op::Value;
  return bench::device_variant<Problem>(name, idea, [run](Problem& p, cudaStream_t stream) {
    const float* x = p.x.device_data();
    Value* result = p.result.device_data();
    if constexpr (takes<Run, const float*, Value*, std::int64_t, Value*>) {
      run(x, result, p.n, p.partials.device_data(), stream);
    } else if constexpr (takes<Run, const float*, Value*, std::int64_t, Value*, unsigned*>) {
      run(x, result, p.n, p.partials.device_data(), p.counter.device_data(), stream);
    } else {
      run(x, result, p.n, p.words.device_data(), p.counter.device_data(), stream);
    }
  });
}

}  // namespace reduction
