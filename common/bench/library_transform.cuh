// One call for "apply a function to every element" as the CUDA Toolkit's libraries offer it:
// cub::DeviceTransform, in the toolkit since CUDA 12.8, or thrust::transform before. Several
// chapters take it as the peer of their kernels.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#include "common/bench/variant.cuh"
#include "common/kit/check.cuh"

#if __has_include(<cub/device/device_transform.cuh>)
#include <cub/device/device_transform.cuh>
#include <cuda/std/tuple>
#define COMMON_TRANSFORM_NAME "cub_transform"
#elif __has_include(<thrust/transform.h>)
#include <thrust/execution_policy.h>
#include <thrust/transform.h>
#define COMMON_TRANSFORM_NAME "thrust_transform"
#endif

namespace bench {

#ifdef COMMON_TRANSFORM_NAME
// out[i] = function(in[i]...) for all i < n, one or two inputs. Device pointers.
template <class Out, class Function, class... In>
void library_transform(Out* out, std::int64_t n, Function function, cudaStream_t stream,
                       const In*... in) {
#if __has_include(<cub/device/device_transform.cuh>)
  CUDA_CHECK(
      cub::DeviceTransform::Transform(cuda::std::make_tuple(in...), out, n, function, stream));
#else
  const auto in_stream = thrust::cuda::par_nosync.on(stream);
  // The first input gives the range; a second one follows it in the argument list.
  const auto call = [&](const auto* first, const auto*... second) {
    thrust::transform(in_stream, first, first + n, second..., out, function);
  };
  call(in...);
#endif
}
#endif

// The peer's row. `transform(problem, apply)` calls apply(out, n, function, in...) once.
template <class Problem, class Transform>
Variant<Problem> transform_peer(Transform transform) {
#ifdef COMMON_TRANSFORM_NAME
  return peer<Problem>(
      COMMON_TRANSFORM_NAME, "the library's transform",
      [transform](Problem& problem, cudaStream_t stream) {
        transform(problem, [stream](auto* out, std::int64_t n, auto function, const auto*... in) {
          library_transform(out, n, function, stream, in...);
        });
      });
#else
  (void)transform;
  return missing_peer<Problem>("cub_transform", "the library's transform",
                               "needs CUB, which comes with the CUDA Toolkit");
#endif
}

}  // namespace bench
