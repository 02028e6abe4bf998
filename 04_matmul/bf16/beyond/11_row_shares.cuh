// row_shares: every SM has an equal share of B's rows, and TMA keeps 100 KB of them under way.
//
// No sum is split: a block has some rows of B and all of k, so nobody waits for anybody. How many
// rows, n decides: 4096 rows on 132 SMs are 32 each. TMA's box is as tall as that; the tile in
// shared memory has 64 rows, 128 from 33 rows of A on, and what wgmma sums past the box is not
// used. With an operand as narrow as A, one wgmma follows the other after some 90 cycles, whatever
// its size: so several warpgroups take the 64-wide steps of k in turn, and add up their sums.
// What is still wrong: it pays up to 64 rows of A, and B has to be n x k.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "04_matmul/bf16/kit/transposed_store.cuh"
#include "04_matmul/kit/cluster.cuh"
#include "04_matmul/kit/gemm_tile.cuh"
#include "04_matmul/kit/vector_rows.cuh"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/pipeline.cuh"
#include "common/kit/ptx/grid.cuh"
#include "common/kit/ptx/mma.cuh"
#include "common/kit/ptx/roles.cuh"
#include "common/kit/ptx/tma.cuh"
#include "common/kit/ptx/wgmma.cuh"

namespace matmul::bf16 {

// A tile: up to 64 kGroups rows of B by kRowsOfA rows of A. kWorkers warpgroups share the products
// of 64 rows of B: a stage of the ring has kSteps steps of 64 values of k, of which they take every
// kWorkers-th.
template <int kRowsOfA_, int kGroups_, int kWorkers_, int kSteps_, int kStages_>
struct ShareTile {
  static constexpr int kRowsOfA = kRowsOfA_, kGroups = kGroups_, kWorkers = kWorkers_;
  static constexpr int kSteps = kSteps_, kStages = kStages_;
  static constexpr int kRowsOfB = 64 * kGroups, kUnit = 64 * kSteps;
  static constexpr int kBytesA = kRowsOfA * kRowBytes, kBytesB = kRowsOfB * kRowBytes;
  static constexpr int kStepBytes = kBytesA + kBytesB, kRingBytes = kStages * kSteps * kStepBytes;
  static constexpr int kFours = kRowsOfA / 8;                             // of a thread's sums
  static constexpr int kPartsBytes = (kWorkers - 1) * 128 * kFours * 16;  // of a group
  static constexpr int kThreads = 128 * (1 + kGroups * kWorkers);
  static constexpr int kSharedBytes = kRingBytes + kGroups * kPartsBytes;
  static_assert(kSteps % kWorkers == 0 && kWorkers > 1, "all have the same number of steps");
  static_assert(kSharedBytes <= 226 * 1024, "a block has 227 KB; 1 KB is for barriers");
};

// Rows of A in a box. TMA takes longer for one that is not there than to load it, but to clear a
// few takes as long.
template <class T>
__host__ __device__ constexpr int rows_in_box(int m) {
  return T::kRowsOfA > 16 ? m : T::kRowsOfA;
}

// height: rows of B in a tile, a multiple of 8; TMA's box has as many.
template <class T>
__global__ void __launch_bounds__(T::kThreads, 1)
    bf16_gemm_row_shares_kernel(const __grid_constant__ CUtensorMap map_a,
                                const __grid_constant__ CUtensorMap map_b, Rows<__nv_bfloat16> c,
                                int m, int n, int k, int height) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ __align__(1024) unsigned char ring[];
  __shared__ std::uint64_t full[T::kStages], empty[T::kStages];
  if (threadIdx.x == 0) {
    kit::init_stages(full, empty, 4 * T::kGroups * T::kWorkers);
    ptx::fence_mbarrier_init();
  }
  // Rows of a step that no box fills are multiplied, too: once and for all they are zeros.
  const int rows = rows_in_box<T>(m);
  for (int s = 0; s < T::kStages * T::kSteps; ++s) {
    unsigned char* const step = ring + s * T::kStepBytes;
    clear_rows(step, height, T::kRowsOfB);
    clear_rows(step + T::kBytesB, rows, T::kRowsOfA);
  }
  ptx::fence_proxy_async();
  __syncthreads();
  ptx::griddepcontrol_launch_dependents();
  ptx::griddepcontrol_wait();

  kit::PipelineState<T::kStages> state;  // goes on from tile to tile
  const int tiles = (n + height - 1) / height;
  const int warpgroup = threadIdx.x / 128;
  if (warpgroup == 0) {
    // The producer. Weights are read once: they shall leave the L2 cache first.
    if (threadIdx.x == 0) {
      const std::uint64_t policy = ptx::createpolicy_evict_first();
      for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        for (int p = 0; p < k; p += T::kUnit, state.next()) {
          unsigned char* step = ring + state.stage * T::kSteps * T::kStepBytes;
          std::uint64_t* const barrier = &full[state.stage];
          kit::wait_empty(empty, state);
          ptx::mbarrier_arrive_expect_tx(barrier, T::kSteps * (height + rows) * kRowBytes);
#pragma unroll
          for (int s = 0; s < T::kSteps; ++s, step += T::kStepBytes) {
            ptx::tensor_load_cache_hint(step, &map_b, p + 64 * s, tile * height, barrier, policy);
            ptx::tensor_load(step + T::kBytesB, &map_a, p + 64 * s, 0, barrier);
          }
        }
      }
    }
  } else {
    const int group = (warpgroup - 1) / T::kWorkers, worker = (warpgroup - 1) % T::kWorkers;
    const int thread = threadIdx.x % 128;
    // Named barriers of a group: of its first worker; of all, when sums lie ready, and when they
    // have been read.
    const int of_first = 1 + group, ready = 1 + T::kGroups + group, read = ready + T::kGroups;
    const bool has_vectors = has_vector_rows(c, n);
    unsigned char* const room = ring + T::kRingBytes + group * T::kPartsBytes;
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
      // region k_loop
      float acc[T::kRowsOfA / 2];
      int before = 0;
      for (int p = 0; p < k; p += T::kUnit, state.next()) {
        const unsigned char* const stage = ring + state.stage * T::kSteps * T::kStepBytes;
        kit::wait_full(full, state);
        ptx::wgmma_fence();
#pragma unroll
        for (int s = 0; s < T::kSteps; s += T::kWorkers) {
          const unsigned char* const step = stage + (s + worker) * T::kStepBytes;
          issue_k_tile<true>(acc, step + group * kSlabBytes, step + T::kBytesB, p == 0 && s == 0);
        }
        ptx::wgmma_commit_group();
        ptx::wgmma_wait_group<1>();
        if (p > 0) kit::release(&empty[before]);
        before = state.stage;
      }
      ptx::wgmma_wait_group<0>();
      kit::release(&empty[before]);
      // endregion
      ptx::fence_registers(acc);

      // The first worker adds up the sums of all.
      auto* const parts = reinterpret_cast<float4*>(room);
      if (worker > 0) {
        if (tile != static_cast<int>(blockIdx.x)) {
          ptx::named_barrier_sync(read, 128 * T::kWorkers);
        }
#pragma unroll
        for (int i = 0; i < T::kFours; ++i) {
          parts[((worker - 1) * T::kFours + i) * 128 + thread] =
              make_float4(acc[4 * i], acc[4 * i + 1], acc[4 * i + 2], acc[4 * i + 3]);
        }
        ptx::named_barrier_arrive(ready, 128 * T::kWorkers);
        continue;
      }
      ptx::named_barrier_sync(ready, 128 * T::kWorkers);
#pragma unroll
      for (int i = 0; i < (T::kWorkers - 1) * T::kFours; ++i) {
        const float4 part = parts[i * 128 + thread];
        float* const sums = &acc[i % T::kFours * 4];
        sums[0] += part.x, sums[1] += part.y, sums[2] += part.z, sums[3] += part.w;
      }
      ptx::named_barrier_sync(of_first, 128);

      // Their room serves once more: eight neighbours of a row of C come together there.
      store_transposed(acc, room, c, has_vectors, tile * height + 64 * group,
                       min(64, height - 64 * group), m, n, of_first);
      if (tile + static_cast<int>(gridDim.x) < tiles) {
        ptx::named_barrier_arrive(read, 128 * T::kWorkers);
      }
    }
  }
#else
  (void)map_a, (void)map_b, (void)c, (void)m, (void)n, (void)k, (void)height;
#endif
}

// As few tiles a block as there can be, and as low as that allows.
template <class T>
void launch_row_shares(const Operands& x, int m, int n, int k, cudaStream_t stream) {
  const int sms = kit::multiprocessor_count();
  const int rounds = kit::divide_up(n, sms * T::kRowsOfB);
  const int height = 8 * kit::divide_up(n, 8 * sms * rounds);
  kit::allow_shared(bf16_gemm_row_shares_kernel<T>, T::kSharedBytes);
  launch_clusters<bf16_gemm_row_shares_kernel<T>>(
      Start::programmatic, std::min(sms, kit::divide_up(n, height)), 1, T::kThreads,
      T::kSharedBytes, stream, map_of_rows(x.a.data, m, k, rows_in_box<T>(m), x.a.pitch),
      map_of_rows(x.b.data, n, k, height, x.b.pitch), x.c, m, n, k, height);
}

// C = A B' for operands of which TMA can load the rows of A and B. B is read once for every 64 rows
// of A.
inline void multiply_in_row_shares(const Operands& x, int m, int n, int k, cudaStream_t stream) {
  if (m <= 8) return launch_row_shares<ShareTile<8, 1, 4, 4, 6>>(x, m, n, k, stream);
  if (m <= 16) return launch_row_shares<ShareTile<16, 1, 4, 4, 5>>(x, m, n, k, stream);
  if (m <= 32) return launch_row_shares<ShareTile<32, 1, 4, 4, 4>>(x, m, n, k, stream);
  for (int first = 0; first < m; first += 64) {
    Operands part = x;
    part.a.data += first * x.a.pitch;
    part.c.data += first * x.c.pitch;
    launch_row_shares<ShareTile<64, 2, 2, 2, 4>>(part, std::min(64, m - first), n, k, stream);
  }
}

// C = A B'; A is m x k, B is n x k, C is m x n, all row-major. Device pointers; sizes up to 2e9.
// Throws Skip if TMA cannot take A and B.
inline void bf16_gemm_row_shares(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c,
                                 int m, int n, int k, cudaStream_t stream) {
  if (!kit::has_vector_rows(a, k) || !kit::has_vector_rows(b, k)) {
    throw kit::Skip("needs rows of 16 bytes");
  }
  multiply_in_row_shares(dense<true>(a, b, c, n, k), m, n, k, stream);
}

}  // namespace matmul::bf16
