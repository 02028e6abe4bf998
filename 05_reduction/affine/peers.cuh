// Row to compare with. cub::DeviceReduce asks for a commutative operator (CUB documentation, class
// DeviceReduce), so a user would take DeviceScan, which does not, and its last element.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <memory>

#include "05_reduction/affine/problem.cuh"
#include "common/cuda_check.cuh"
#include "common/device_buffer.cuh"
#include "common/library_scratch.cuh"
#include "common/variant.cuh"

#if __has_include(<cub/device/device_scan.cuh>)
#include <cub/device/device_scan.cuh>
#endif

struct Then {
  __host__ __device__ AffineMap operator()(AffineMap first, AffineMap second) const {
    return then(first, second);
  }
};

inline common::Variant<Affine> affine_peer() {
#if __has_include(<cub/device/device_scan.cuh>)
  const auto prefixes = std::make_shared<common::DeviceBuffer<AffineMap>>();
  return common::peer<Affine>(
      "cub_scan", "the last element of cub::DeviceScan",
      [prefixes, scratch = common::LibraryScratch()](Affine& p, cudaStream_t stream) {
        if (prefixes->size() != p.n) *prefixes = common::DeviceBuffer<AffineMap>(p.n);
        scratch(p.n, [&](void* memory, std::size_t& bytes) {
          CUDA_CHECK(cub::DeviceScan::InclusiveScan(memory, bytes, p.maps.on_device(),
                                                    prefixes->data(), Then(), p.n, stream));
        });
        CUDA_CHECK(cudaMemcpyAsync(p.result.on_device(), prefixes->data() + p.n - 1,
                                   sizeof(AffineMap), cudaMemcpyDeviceToDevice, stream));
      });
#else
  return common::missing_peer<Affine>("cub_scan", "the last element of cub::DeviceScan",
                                      "needs CUB, which comes with the CUDA Toolkit");
#endif
}
