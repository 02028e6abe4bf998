// Rows to compare with: what the library offers, and the most this machine can do.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "05_reduction/scan/problem.cuh"
#include "common/bench/variant.cuh"
#include "common/bench/yardsticks.cuh"
#include "common/kit/check.cuh"
#include "common/kit/workspace.cuh"

#if __has_include(<cub/device/device_scan.cuh>)
#include <cub/device/device_scan.cuh>
#endif

namespace scan {

// The peer: cub::DeviceScan, part of the toolkit.
inline bench::Variant<Scan> scan_peer() {
#if __has_include(<cub/device/device_scan.cuh>)
  return bench::peer<Scan>(
      "cub_scan", "cub::DeviceScan", [scratch = kit::LibraryCall()](Scan& p, cudaStream_t stream) {
        scratch(p.n, [&](void* memory, std::size_t& bytes) {
          CUDA_CHECK(cub::DeviceScan::InclusiveSum(memory, bytes, p.x.device_data(),
                                                   p.y.device_data(), p.n, stream));
        });
      });
#else
  return bench::missing_peer<Scan>("cub_scan", "cub::DeviceScan",
                                   "needs CUB, which comes with the CUDA Toolkit");
#endif
}

// Yardstick: the device's own copy, which reads and writes the same bytes.
inline bench::Variant<Scan> scan_device_copy() { return bench::device_copy(&Scan::x, &Scan::y); }

}  // namespace scan
