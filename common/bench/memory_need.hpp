// What a run allocates, for the check before anything is allocated.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <string>

#include "common/bench/cpu_facts.hpp"
#include "common/bench/device_facts.cuh"
#include "common/bench/options.hpp"
#include "common/bench/report.hpp"
#include "common/kit/check.cuh"

namespace bench {

// Bytes that a problem takes, with all that its variants allocate: pristine and working copies, the
// reference, scratch memory. Doubles, which do not overflow.
struct MemoryNeed {
  double host = 0;
  double device = 0;
};

// Where the CPU runs the kernels, a thread that waits for others has a stack on the host, of which
// it touches a page or two. So many threads wait, but no more than the device holds at a time.
inline double stacks_of(double threads, const DeviceFacts& device) {
  if (!device.available || device.is_real_gpu()) return 0;
  const double most = 1.0 * device.multiprocessors * device.max_threads_per_multiprocessor;
  return 5e3 * std::min(threads, most);
}

// Refuses sizes that cannot fit, before anything is allocated. Throws UsageError.
inline void require_memory(const MemoryNeed& need, const DeviceFacts& device) {
  const auto refuse = [](const char* where, double need, double have) {
    throw UsageError("needs " + short_number(need / 1e9) + " GB of " + where + " memory, " +
                     short_number(have / 1e9) + " GB are free: choose a smaller size");
  };
  // Where the CPU runs the kernels, it holds the device's memory, too.
  const bool is_shared = device.available && !device.is_real_gpu();
  const double on_host = need.host + (is_shared ? need.device : 0);
  const double free_on_host = query_cpu().available_bytes;
  if (free_on_host > 0 && on_host > free_on_host) refuse("host", on_host, free_on_host);
  if (!device.available) return;
  std::size_t free_bytes = 0, total_bytes = 0;
  CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
  const double free = static_cast<double>(free_bytes);
  if (need.device > free) refuse("device", need.device, free);
}

}  // namespace bench
