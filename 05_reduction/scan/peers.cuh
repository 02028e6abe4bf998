// Rows to compare with: what the library offers, and the most this machine can do.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "05_reduction/scan/problem.cuh"
#include "common/cuda_check.cuh"
#include "common/library_scratch.cuh"
#include "common/variant.cuh"
#include "common/yardsticks.cuh"

#if __has_include(<cub/device/device_scan.cuh>)
#include <cub/device/device_scan.cuh>
#endif

// The peer: cub::DeviceScan, part of the toolkit.
inline common::Variant<Scan> scan_peer() {
#if __has_include(<cub/device/device_scan.cuh>)
  return common::peer<Scan>("cub_scan", "cub::DeviceScan",
                            [scratch = common::LibraryScratch()](Scan& p, cudaStream_t stream) {
                              scratch(p.n, [&](void* memory, std::size_t& bytes) {
                                CUDA_CHECK(cub::DeviceScan::InclusiveSum(
                                    memory, bytes, p.x.on_device(), p.y.on_device(), p.n, stream));
                              });
                            });
#else
  return common::missing_peer<Scan>("cub_scan", "cub::DeviceScan",
                                    "needs CUB, which comes with the CUDA Toolkit");
#endif
}

// Yardstick: the device's own copy, which reads and writes the same bytes.
inline common::Variant<Scan> scan_device_copy() { return common::device_copy(&Scan::x, &Scan::y); }
