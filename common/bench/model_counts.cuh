// What the kernels of a row did to memory and to their warps, where somebody counts it: in a
// program that simt/nvcc has built with counters, run with SIMT_PROFILE=1 (`make profile-01`). On a
// GPU nothing is counted here: Nsight Compute does it there. Beside the build, this is the only
// file of common/ that knows simt.
#pragma once

#include <cstdint>

#include "common/bench/report.hpp"

#if __has_include(<simt/profile.h>)
#include <simt/profile.h>
#endif

namespace bench {

// To simt's checks, a kernel that reads these bytes beside an array is out of bounds.
inline void tell_of_guard([[maybe_unused]] const void* begin, [[maybe_unused]] std::int64_t bytes) {
#if SIMT_INSTRUMENTED
  simt::guard(begin, static_cast<std::uint64_t>(bytes));
#endif
}

#if SIMT_INSTRUMENTED

// What all kernels did between two moments, added up.
inline Counts difference(const simt::KernelProfile& before, const simt::KernelProfile& after) {
  Counts counts;
  if (after.launches == before.launches) return counts;
  using Kernels = const simt::KernelProfile&;
  const auto sum = [&](auto figure) {
    const std::uint64_t grown = figure(after) - figure(before);
    return grown > 0 ? static_cast<double>(grown) : kUnknown;
  };
  const auto mean = [&](auto part, auto whole) { return sum(part) / sum(whole); };
  counts.moved_bytes = sum([](Kernels k) {
    return k.global.load_bytes_moved() + k.global.store_bytes_moved() + k.beside.tma_load_bytes +
           k.beside.tma_store_bytes;
  });
  counts.load_sectors = mean([](Kernels k) { return k.global.load_sectors; },
                             [](Kernels k) { return k.global.load_requests; });
  counts.store_sectors = mean([](Kernels k) { return k.global.store_sectors; },
                              [](Kernels k) { return k.global.store_requests; });
  counts.conflict =
      mean([](Kernels k) { return k.shared.load_wavefronts + k.shared.store_wavefronts; },
           [](Kernels k) { return k.shared.load_groups + k.shared.store_groups; });
  counts.active_lanes =
      mean([](Kernels k) { return k.instruction_lanes; }, [](Kernels k) { return k.instructions; });
  counts.barriers = sum([](Kernels k) { return k.barrier_requests; });
  counts.atomics =
      sum([](Kernels k) { return k.atomics.global_requests + k.atomics.shared_requests; });
  counts.tensor_operations = sum([](Kernels k) { return k.beside.tensor_operations; });
  return counts;
}

// Calls run() and says what its kernels did. They have ended when it returns.
template <class Run>
Counts count(Run run) {
  const char* const every_kernel = "";  // each name contains it
  const simt::KernelProfile before = simt::profile(every_kernel);
  run();
  return difference(before, simt::profile(every_kernel));
}

#else

template <class Run>
Counts count(Run run) {
  run();
  return {};
}

#endif

}  // namespace bench
