// Rows to compare with: what the library offers, and the most this machine can do.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "05_reduction/sum/14_tuned.cuh"
#include "05_reduction/sum/kit/tiles.cuh"
#include "05_reduction/sum/problem.cuh"
#include "common/bench/variant.cuh"
#include "common/kit/check.cuh"
#include "common/kit/workspace.cuh"

#if __has_include(<cub/device/device_reduce.cuh>)
#include <cub/device/device_reduce.cuh>
#endif

namespace reduction {

#if __has_include(<cub/device/device_reduce.cuh>)
// region cub_sum
// With memory = nullptr it only sets the bytes it would need.
inline void cub_reduce(Reduction<Plus>& p, void* memory, std::size_t& bytes, cudaStream_t stream) {
  CUDA_CHECK(cub::DeviceReduce::Sum(memory, bytes, p.x.device_data(), p.result.device_data(), p.n,
                                    stream));
}
// endregion
inline void cub_reduce(Reduction<Max>& p, void* memory, std::size_t& bytes, cudaStream_t stream) {
  CUDA_CHECK(cub::DeviceReduce::Max(memory, bytes, p.x.device_data(), p.result.device_data(), p.n,
                                    stream));
}
#if CUB_VERSION >= 300000
#define SUM_HAS_CUB_ARGMAX 1
// Since CUB 3 value and index go to two places: the members of our result.
inline void cub_reduce(Reduction<ArgMax>& p, void* memory, std::size_t& bytes,
                       cudaStream_t stream) {
  Indexed* result = p.result.device_data();
  CUDA_CHECK(cub::DeviceReduce::ArgMax(memory, bytes, p.x.device_data(), &result->value,
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
bench::Variant<Reduction<Op>> cub_reduce_peer() {
  using Problem = Reduction<Op>;
  if constexpr (has_cub_reduce<Op>()) {
    return bench::peer<Problem>("cub_reduce", "cub::DeviceReduce",
                                [scratch = kit::LibraryCall()](Problem& p, cudaStream_t stream) {
                                  scratch(p.n, [&](void* memory, std::size_t& bytes) {
                                    cub_reduce(p, memory, bytes, stream);
                                  });
                                });
  } else {
    return bench::missing_peer<Problem>(
        "cub_reduce", "cub::DeviceReduce",
        "needs CUB, which comes with the CUDA Toolkit (argmax: version 3)");
  }
}

// Reads n / 4 float4 and keeps nothing. The comparison at the end is never true, but the compiler
// cannot know that, so it must leave every load in.
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
inline bench::Variant<Sum> sum_read_only() {
  bench::Variant<Sum> row = bench::device_variant<Sum>(
      "read_only", "yardstick: reads every element and keeps nothing",
      [](Sum& p, cudaStream_t stream) {
        constexpr std::int64_t kPerBlock = 4 * kTunedBlock * kTunedLoads;
        const std::int64_t vectors = p.n / 4;
        const std::int64_t blocks =
            std::max<std::int64_t>(1, (vectors + kPerBlock - 1) / kPerBlock);
        sum_read_only_kernel<<<blocks, kTunedBlock, 0, stream>>>(
            reinterpret_cast<const float4*>(p.x.device_data()), p.result.device_data(), vectors);
        CUDA_CHECK(cudaGetLastError());
      });
  row.kind = bench::Kind::yardstick;
  row.bytes = [](const Sum& p) { return 16.0 * static_cast<double>(p.n / 4); };
  row.check = [](const Sum&) { return bench::Comparison{}; };  // it has no result
  return row;
}

}  // namespace reduction
