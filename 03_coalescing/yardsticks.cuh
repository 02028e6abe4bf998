// Rows the tables of this chapter are read against: copies of the same bytes that do nothing else.
// The copy of the CUDA runtime is in common/bench/yardsticks.cuh.
//
// A Problem that wants them offers source() and destination(), two GuardedArray<float>; the smaller
// of their sizes is copied.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "03_coalescing/copy/06_vectorized.cuh"
#include "common/bench/compare.hpp"
#include "common/bench/variant.cuh"
#include "common/kit/check.cuh"

namespace coalescing {

template <class Problem>
std::int64_t copied_floats(Problem& p) {
  return std::min(p.source().size(), p.destination().size());
}

// What both yardsticks have in common: the bytes they move, and what must be there afterwards.
template <class Problem>
bench::Variant<Problem> copy_yardstick(const std::string& name, const std::string& idea,
                                       bench::Place place) {
  bench::Variant<Problem> yardstick;
  yardstick.name = name;
  yardstick.idea = "yardstick: " + idea;
  yardstick.place = place;
  yardstick.kind = bench::Kind::yardstick;
  yardstick.bytes = [](const Problem& p) {
    return 2.0 * sizeof(float) * static_cast<double>(copied_floats(p));
  };
  yardstick.check = [](const Problem& p) {
    return bench::compare(p.destination().fetched(), p.source().pristine(), copied_floats(p), 0.0);
  };
  return yardstick;
}

// The copy of this chapter: 16 bytes per thread. The arrays are aligned.
template <class Problem>
bench::Variant<Problem> copy_kernel_yardstick() {
  auto yardstick =
      copy_yardstick<Problem>("copy_kernel", "a copy with 16-byte accesses", bench::Place::device);
  yardstick.run = [](Problem& p, cudaStream_t stream) {
    const int block = 256;
    const std::int64_t n = copied_floats(p), threads = n / 4 + n % 4;
    const std::int64_t grid = std::max<std::int64_t>(1, (threads + block - 1) / block);
    coalesced_copy::copy_vectorized_kernel<<<grid, block, 0, stream>>>(
        p.source().device_data(), p.destination().device_data(), n);
    CUDA_CHECK(cudaGetLastError());
  };
  return yardstick;
}

// The copy of the CPU, with all its threads.
template <class Problem>
bench::Variant<Problem> cpu_copy_yardstick() {
  auto yardstick =
      copy_yardstick<Problem>("cpu_copy", "a copy on the CPU, all threads", bench::Place::cpu);
  yardstick.run = [](Problem& p, cudaStream_t) {
    const float* from = p.source().host_data();
    float* to = p.destination().host_data();
    const std::int64_t count = copied_floats(p);
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < count; ++i) to[i] = from[i];
  };
  return yardstick;
}

}  // namespace coalescing
