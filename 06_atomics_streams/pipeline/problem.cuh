// The problem: a batch of numbers lies in host memory, each goes through some rounds of a generator
// on the GPU, the results go back. How much of copying and computing can happen at the same time?
#pragma once

#include <cstdint>
#include <memory>

#include "06_atomics_streams/kit/xorshift.cuh"
#include "06_atomics_streams/pipeline/kit/batch.cuh"
#include "common/bench/compare.hpp"
#include "common/bench/guarded_array.cuh"
#include "common/bench/memory_need.hpp"
#include "common/bench/report.hpp"
#include "common/kit/host_buffer.hpp"
#include "common/kit/random.cuh"

namespace pipeline {

struct Pipeline {
  static constexpr const char* name = "pipeline";

  std::int64_t n;
  int chunks, rounds;
  bench::GuardedArray<unsigned> x, y;
  kit::HostBuffer<unsigned> expected;

  Pipeline(std::int64_t n, int chunks, int rounds, std::uint64_t seed)
      : n(n),
        chunks(chunks),
        rounds(rounds),
        x("x", bench::Role::input, n),
        y("y", bench::Role::output, n),
        expected(n) {
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < n; ++i) {
      x.pristine()[i] = static_cast<unsigned>(kit::random_bits(seed, i) >> 32);
      expected[i] = x.pristine()[i];
    }
    // Round by round over a piece that stays in the cache: this way the compiler uses vectors.
    constexpr std::int64_t kPiece = 4096;
#pragma omp parallel for schedule(static)
    for (std::int64_t begin = 0; begin < n; begin += kPiece) {
      const std::int64_t end = begin + kPiece < n ? begin + kPiece : n;
      for (int r = 0; r < rounds; ++r) {
        for (std::int64_t i = begin; i < end; ++i)
          expected[i] = atomics_streams::xorshift(expected[i]);
      }
    }
  }

  // Streams, events, pinned and device memory; made when the first rung asks for them.
  Batch& workspace() {
    if (!batch_) batch_ = std::make_unique<Batch>(n, chunks, rounds);
    return *batch_;
  }

  template <class Visit>
  void each_array(Visit visit) {
    visit(x);
    visit(y);
  }

  bench::Comparison check() const { return bench::compare(y.fetched(), expected.data(), n, 0.0); }

  bench::Sizes sizes() const { return {{"n", n}, {"chunks", chunks}, {"rounds", rounds}}; }
  double bytes() const { return 2.0 * sizeof(unsigned) * static_cast<double>(n); }
  double flops() const { return 0; }

  // Host: input twice, output, reference, and two pinned arrays. Device: input and output.
  static bench::MemoryNeed memory(std::int64_t n) {
    return {6.0 * sizeof(unsigned) * static_cast<double>(n),
            2.0 * sizeof(unsigned) * static_cast<double>(n)};
  }

 private:
  std::unique_ptr<Batch> batch_;
};

}  // namespace pipeline
