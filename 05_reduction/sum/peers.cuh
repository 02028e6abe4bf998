// Rows to compare with: what the library offers, and the most this machine can do.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "05_reduction/library_scratch.hpp"
#include "05_reduction/sum/15_tuned.cuh"
#include "05_reduction/sum/problem.cuh"
#include "common/cuda_check.cuh"
#include "common/variant.cuh"

#if __has_include(<cub/device/device_reduce.cuh>)
#include <cub/device/device_reduce.cuh>

// With memory = nullptr it only sets the bytes it would need.
inline void cub_reduce(Reduction<Plus>& p, void* memory, std::size_t& bytes, cudaStream_t stream) {
  CUDA_CHECK(
      cub::DeviceReduce::Sum(memory, bytes, p.x.on_device(), p.result.on_device(), p.n, stream));
}
inline void cub_reduce(Reduction<Max>& p, void* memory, std::size_t& bytes, cudaStream_t stream) {
  CUDA_CHECK(
      cub::DeviceReduce::Max(memory, bytes, p.x.on_device(), p.result.on_device(), p.n, stream));
}
#if CUB_VERSION >= 300000
#define SUM_HAS_CUB_ARGMAX 1
// Since CUB 3 value and index go to two places: the members of our result.
inline void cub_reduce(Reduction<ArgMax>& p, void* memory, std::size_t& bytes,
                       cudaStream_t stream) {
  Indexed* result = p.result.on_device();
  CUDA_CHECK(cub::DeviceReduce::ArgMax(memory, bytes, p.x.on_device(), &result->value,
                                       &result->index, p.n, stream));
}
#endif
#endif

template <class Op>
constexpr bool has_cub_reduce() {
#if __has_include(<cub/device/device_reduce.cuh>)
#ifdef SUM_HAS_CUB_ARGMAX
  return true;
#else
  return !std::is_same_v<Op, ArgMax>;
#endif
#else
  return false;
#endif
}

// The peer: cub::DeviceReduce, part of the toolkit.
template <class Op>
common::Variant<Reduction<Op>> cub_reduce_peer() {
  common::Variant<Reduction<Op>> peer;
  peer.name = "cub_reduce";
  peer.idea = "peer: cub::DeviceReduce";
  peer.place = common::Place::device;
  peer.kind = common::Kind::peer;
  if constexpr (has_cub_reduce<Op>()) {
    peer.run = [scratch = LibraryScratch()](Reduction<Op>& p,
                                            cudaStream_t stream) -> common::Phases {
      auto memory = scratch(p.n, [&] {
        std::size_t bytes = 0;
        cub_reduce(p, nullptr, bytes, stream);
        return bytes;
      });
      cub_reduce(p, memory.data, memory.bytes, stream);
      return {};
    };
  } else {
    peer.needs.missing = "needs CUB, which comes with the CUDA Toolkit (argmax: version 3)";
  }
  return peer;
}

// Reads n / 4 float4 and keeps nothing. That nothing can be left out is what the comparison is for,
// which is never true: a thread would have to find bits that no input has.
__global__ void __launch_bounds__(kTunedBlock)
    sum_read_only_kernel(const float4* x, float* result, std::int64_t vectors) {
  constexpr int kLoads = 4 * kTunedLoads;
  const std::int64_t tile = static_cast<std::int64_t>(blockIdx.x) * kTunedBlock * kLoads;
  float seen = 0;
#pragma unroll
  for (int p = 0; p < kLoads; ++p) {
    const std::int64_t i = tile + p * kTunedBlock + threadIdx.x;
    if (i < vectors) {
      const float4 v = x[i];
      seen = fmaxf(seen, fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)));
    }
  }
  if (seen > 2) *result = seen;  // inputs lie within [-1, 1]
}

// Yardstick: the same bytes read, nothing done with them.
inline common::Variant<Sum> sum_read_only() {
  common::Variant<Sum> row;
  row.name = "read_only";
  row.idea = "yardstick: reads every element and keeps nothing";
  row.place = common::Place::device;
  row.kind = common::Kind::yardstick;
  row.run = [](Sum& p, cudaStream_t stream) -> common::Phases {
    constexpr std::int64_t kPerBlock = 4 * kTunedBlock * kTunedLoads;
    const std::int64_t vectors = p.n / 4;
    const std::int64_t blocks = std::max<std::int64_t>(1, (vectors + kPerBlock - 1) / kPerBlock);
    sum_read_only_kernel<<<blocks, kTunedBlock, 0, stream>>>(
        reinterpret_cast<const float4*>(p.x.on_device()), p.result.on_device(), vectors);
    CUDA_CHECK(cudaGetLastError());
    return {};
  };
  row.bytes = [](const Sum& p) { return 16.0 * static_cast<double>(p.n / 4); };
  row.check = [](const Sum&) { return common::Comparison{}; };  // it has no result
  return row;
}
