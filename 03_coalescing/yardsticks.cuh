// Rows the tables of this chapter are read against: copies of the same bytes that do nothing else.
// The copy of the CUDA runtime is in common/yardsticks.cuh.
//
// A Problem that wants them offers source() and destination(), two GuardedArray<float>; the smaller
// of their sizes is copied.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "03_coalescing/copy/05_vectorized.cuh"
#include "common/compare.hpp"
#include "common/variant.cuh"

template <class Problem>
std::int64_t copied_floats(Problem& p) {
  return std::min(p.source().size(), p.destination().size());
}

// What both yardsticks have in common: the bytes they move, and what must be there afterwards.
template <class Problem>
common::Variant<Problem> copy_yardstick(const std::string& name, const std::string& idea,
                                        common::Place place) {
  common::Variant<Problem> yardstick;
  yardstick.name = name;
  yardstick.idea = "yardstick: " + idea;
  yardstick.place = place;
  yardstick.kind = common::Kind::yardstick;
  yardstick.bytes = [](const Problem& p) {
    return 2.0 * sizeof(float) * static_cast<double>(copied_floats(p));
  };
  yardstick.check = [](const Problem& p) {
    return common::compare(p.destination().fetched(), p.source().pristine(), copied_floats(p), 0.0);
  };
  return yardstick;
}

// The copy of this chapter: 16 bytes per thread (copy/05_vectorized.cuh).
template <class Problem>
common::Variant<Problem> copy_kernel_yardstick() {
  auto yardstick =
      copy_yardstick<Problem>("copy_kernel", "a copy with 16-byte accesses", common::Place::device);
  yardstick.run = [](Problem& p, cudaStream_t stream) -> common::Phases {
    copy_vectorized(p.source().on_device(), p.destination().on_device(), copied_floats(p), stream);
    return {};
  };
  return yardstick;
}

// The copy of the CPU, with all its threads.
template <class Problem>
common::Variant<Problem> cpu_copy_yardstick() {
  auto yardstick =
      copy_yardstick<Problem>("cpu_copy", "a copy on the CPU, all threads", common::Place::cpu);
  yardstick.run = [](Problem& p, cudaStream_t) -> common::Phases {
    const float* from = p.source().on_host();
    float* to = p.destination().on_host();
    const std::int64_t count = copied_floats(p);
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < count; ++i) to[i] = from[i];
    return {};
  };
  return yardstick;
}
