// Row to compare with. cub::DeviceReduce asks for a commutative operator (CUB documentation, class
// DeviceReduce), so a user would take DeviceScan, which does not, and its last element.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <memory>

#include "05_reduction/affine/problem.cuh"
#include "common/bench/variant.cuh"
#include "common/kit/check.cuh"
#include "common/kit/device_buffer.cuh"
#include "common/kit/workspace.cuh"

#if __has_include(<cub/device/device_scan.cuh>)
#include <cub/device/device_scan.cuh>
#endif

namespace affine {

struct Then {
  __host__ __device__ AffineMap operator()(AffineMap first, AffineMap second) const {
    return then(first, second);
  }
};

inline bench::Variant<Affine> affine_peer() {
#if __has_include(<cub/device/device_scan.cuh>)
  const auto prefixes = std::make_shared<kit::DeviceBuffer<AffineMap>>();
  return bench::peer<Affine>(
      "cub_scan", "the last element of cub::DeviceScan",
      [prefixes, scratch = kit::LibraryCall()](Affine& p, cudaStream_t stream) {
        if (prefixes->size() != p.n) *prefixes = kit::DeviceBuffer<AffineMap>(p.n);
        scratch(p.n, [&](void* memory, std::size_t& bytes) {
          CUDA_CHECK(cub::DeviceScan::InclusiveScan(memory, bytes, p.maps.device_data(),
                                                    prefixes->data(), Then(), p.n, stream));
        });
        CUDA_CHECK(cudaMemcpyAsync(p.result.device_data(), prefixes->data() + p.n - 1,
                                   sizeof(AffineMap), cudaMemcpyDeviceToDevice, stream));
      });
#else
  return bench::missing_peer<Affine>("cub_scan", "the last element of cub::DeviceScan",
                                     "needs CUB, which comes with the CUDA Toolkit");
#endif
}

}  // namespace affine
