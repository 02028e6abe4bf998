// What a run allocates, for the check before anything is allocated.
#pragma once

#include <algorithm>

#include "common/bench/device_facts.cuh"

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

}  // namespace bench
