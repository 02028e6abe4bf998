// The last page of the ladder: which rung a library would take.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#include "05_reduction/scan/08_single_pass.cuh"
#include "05_reduction/scan/10_pipelined.cuh"
#include "05_reduction/scan/problem.cuh"
#include "common/bench/variant.cuh"
#include "common/kit/launch.cuh"

namespace scan {

// y[i] = x[0] + ... + x[i] for all i < n. Device pointers; states and counters as for both rungs.
// Returns the name of the rung that does it: the pipelined one where the device has TMA and a block
// may have the shared memory that it takes.
inline std::string scan_chosen(const float* x, float* y, std::int64_t n, std::uint64_t* states,
                               unsigned* counters, cudaStream_t stream) {
  static const int major = kit::device_attribute(cudaDevAttrComputeCapabilityMajor);
  if (major >= 9 && kit::most_shared() >= static_cast<int>(sizeof(ScanRing))) {
    scan_pipelined(x, y, n, states, counters, stream);
    return "pipelined";
  }
  scan_single_pass(x, y, n, states, counters, stream);
  return "single_pass";
}

// Its row.
inline bench::Variant<Scan> scan_chooser() {
  return bench::chooser<Scan>(
      "a library's choice: by what the device has", [](Scan& p, cudaStream_t stream) {
        return scan_chosen(p.x.device_data(), p.y.device_data(), p.n, p.states.device_data(),
                           p.counters.device_data(), stream);
      });
}

}  // namespace scan
