// dQ in fp32 as fragments, in the order of queries and columns, and rounding it: for rungs whose
// warps add their own parts of it.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "07_flash_attention/backward/kit/dq_parts.cuh"
#include "07_flash_attention/backward/kit/row_facts.cuh"
#include "common/kit/check.cuh"

namespace backward {

// Where the fragment of a query and a column lies. Fragments go through the columns of 16 queries,
// then of the next 16, one padded head after the other.
template <int kD>
__device__ __forceinline__ float* fragment_of(const RowFacts& rows, std::int64_t head, int row,
                                              int col) {
  return rows.dq_sum + (head * rows.pitch + row) * kD + col * 16;
}

// A block 64 queries.
template <class T, int kD>
__global__ void __launch_bounds__(kRowThreads)
    finish_dq_fragments_kernel(RowFacts rows, T* dq, int n_q, float scale) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  const int tiles = rows.pitch / 64;  // of a head
  const std::int64_t head = blockIdx.x / tiles;
  const int first_row = static_cast<int>(blockIdx.x % tiles) * 64;
#pragma unroll
  for (int i = threadIdx.x / 32; i < kD / 8; i += kRowThreads / 32) {
    const int row = first_row + i / (kD / 32) * 16, col = i % (kD / 32) * 32;
    store_fragments<kD>(dq + head * n_q * kD, fragment_of<kD>(rows, head, row, col), 128, row, col,
                        n_q, scale);
  }
#endif
}

// dQ = dq_sum / sqrt(d)
template <int kD, class T>
void finish_dq_fragments(const Arguments<T>& args, cudaStream_t stream) {
  const auto& shape = args.shape;
  const auto blocks = static_cast<unsigned>(shape.all_heads() * args.rows.pitch / 64);
  finish_dq_fragments_kernel<T, kD>
      <<<blocks, kRowThreads, 0, stream>>>(args.rows, args.dq, shape.n_q, shape.scale());
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace backward
