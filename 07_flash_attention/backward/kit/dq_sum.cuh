// The last step of rungs whose blocks add up dQ in fp32: to T.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/backward/kit/row_facts.cuh"
#include "07_flash_attention/backward/shape.hpp"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"

namespace backward {

template <class T>
__global__ void __launch_bounds__(kRowThreads)
    finish_dq_kernel(RowFacts rows, T* dq, std::int64_t count, int n_q, int d, float scale) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kRowThreads + threadIdx.x;
  if (i >= count) return;
  const std::int64_t row = i / d, padded = row / n_q * rows.pitch + row % n_q;
  dq[i] = T(scale * rows.dq_sum[padded * d + i % d]);
}

// dQ = dq_sum / sqrt(d)
template <class T>
void finish_dq(const Arguments<T>& args, cudaStream_t stream) {
  const Shape& shape = args.shape;
  const std::int64_t count = shape.rows() * shape.d;
  const int blocks = kit::divide_up(count, kRowThreads);
  finish_dq_kernel<<<blocks, kRowThreads, 0, stream>>>(args.rows, args.dq, count, shape.n_q,
                                                       shape.d, shape.scale());
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace backward
