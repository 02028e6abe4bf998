// direct_fragments: tensor cores, fed from global memory without shared memory.
//
// A weight is used by one warp only, so it need not be shared. And the order in which k is summed
// up is free, as long as both operands follow it. So each of a row's four lanes loads 8 neighbours
// of k, 16 bytes, and takes them for the four pairs that two mma.sync want, which lie apart. B's
// rows are the instruction's 16 rows, A's rows its 8 columns: C' = B A'. What is still wrong: loads
// and products are in one thread's program: it asks again only after it has multiplied.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/kit/vector_rows.cuh"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/ptx/mma.cuh"

namespace matmul::bf16 {

// A block has 16 rows of B, and kEights eights of rows of A, number blockIdx.y; each of its warps
// takes 32 values of k in turn.
template <int kEights, bool kVectors>
__global__ void __launch_bounds__(256, kVectors&& kEights <= 2 ? 3 : 2)
    bf16_gemm_direct_fragments_kernel(const __nv_bfloat16* a, const __nv_bfloat16* b,
                                      __nv_bfloat16* c, int m, int n, int k) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  constexpr int kWarps = 8, kStep = 32;  // values of k
  constexpr int kAhead = kVectors && kEights <= 2 ? 4 : 2;
  __shared__ float parts[kWarps][8 * kEights][16 + 1];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int row = lane / 4, col = lane % 4 * 8;
  const int first_b = static_cast<int>(blockIdx.x) * 16;
  const int first_a = static_cast<int>(blockIdx.y) * 8 * kEights;

  // region loop
  float acc[kEights][4] = {};
  for (int p = warp * kStep; p < k; p += kAhead * kWarps * kStep) {
    // All weights are asked for before the first is used.
    uint4 upper[kAhead], lower[kAhead];
#pragma unroll
    for (int q = 0; q < kAhead; ++q) {
      const int at = p + q * kWarps * kStep + col;
      upper[q] = eight_or_zero<kVectors>(b, first_b + row, at, n, k);
      lower[q] = eight_or_zero<kVectors>(b, first_b + row + 8, at, n, k);
    }
#pragma unroll
    for (int q = 0; q < kAhead; ++q) {
      // Of 8 neighbours, the first product takes 0, 1 and 2, 3, the second 4, 5 and 6, 7.
      const std::uint32_t front[4] = {upper[q].x, lower[q].x, upper[q].y, lower[q].y};
      const std::uint32_t back[4] = {upper[q].z, lower[q].z, upper[q].w, lower[q].w};
#pragma unroll
      for (int e = 0; e < kEights; ++e) {
        const int at = p + q * kWarps * kStep + col;
        const uint4 x = eight_or_zero<kVectors>(a, first_a + 8 * e + row, at, m, k);
        ptx::mma_m16n8k16(acc[e], front, x.x, x.y);
        ptx::mma_m16n8k16(acc[e], back, x.z, x.w);
      }
    }
  }
  // endregion

  // The warps' parts of each sum meet in shared memory, always in the same order.
#pragma unroll
  for (int e = 0; e < kEights; ++e) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      parts[warp][8 * e + lane % 4 * 2 + i % 2][row + i / 2 * 8] = acc[e][i];
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < 8 * kEights * 16; i += 256) {
    const int y = i / 16, x = i % 16;
    float sum = 0;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) sum += parts[w][y][x];
    if (first_a + y < m && first_b + x < n) {
      c[static_cast<std::int64_t>(first_a + y) * n + first_b + x] = __float2bfloat16(sum);
    }
  }
#else
  (void)a, (void)b, (void)c, (void)m, (void)n, (void)k;
#endif
}

template <int kEights>
void launch_direct_fragments(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c,
                             int m, int n, int k, cudaStream_t stream) {
  const dim3 blocks(kit::divide_up(n, 16), kit::divide_up(m, 8 * kEights));
  if (kit::has_vector_rows(a, k) && kit::has_vector_rows(b, k)) {
    bf16_gemm_direct_fragments_kernel<kEights, true><<<blocks, 256, 0, stream>>>(a, b, c, m, n, k);
  } else {
    bf16_gemm_direct_fragments_kernel<kEights, false><<<blocks, 256, 0, stream>>>(a, b, c, m, n, k);
  }
  CUDA_CHECK(cudaGetLastError());
}

// C = A B'; A is m x k, B is n x k, C is m x n, all row-major. Device pointers; sizes up to 2e9,
// m up to 2,000,000.
inline void bf16_gemm_direct_fragments(const __nv_bfloat16* a, const __nv_bfloat16* b,
                                       __nv_bfloat16* c, int m, int n, int k, cudaStream_t stream) {
  if (m <= 8) {
    launch_direct_fragments<1>(a, b, c, m, n, k, stream);
  } else if (m <= 16) {
    launch_direct_fragments<2>(a, b, c, m, n, k, stream);
  } else {
    launch_direct_fragments<4>(a, b, c, m, n, k, stream);
  }
}

}  // namespace matmul::bf16
