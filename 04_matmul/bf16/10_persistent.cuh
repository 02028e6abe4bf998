// Rung 10, persistent: one block for each SM, which computes tile after tile.
//
// The loading thread does not stop at the end of a tile. While the others store it, the ring fills
// for the next one, and barriers and registers are set up once for all tiles. Tiles are taken in
// bands: those that the SMs compute at the same time are a compact part of C, 16 by about 8, which
// share their rows of A and columns of B in the L2 cache. What is still wrong: each of the 132 SMs
// asks the L2 cache for 48 KB a step, and much of that is the same for all.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "04_matmul/bf16/06_multistage.cuh"
#include "04_matmul/bf16/09_large_tile.cuh"
#include "04_matmul/bf16/hopper.cuh"
#include "04_matmul/sgemm/tiles.cuh"
#include "common/cuda_check.cuh"

// The order in which tiles are computed: in bands of `band` rows of tiles, each band column by
// column. The last band may have fewer rows.
struct TileOrder {
  int down, across;  // tiles
  int band;

  __host__ __device__ int count() const { return down * across; }
  // Row and column of tile number i, counted in tiles.
  __device__ int2 at(int i) const {
    const int first_row = i / (band * across) * band;
    const int height = min(band, down - first_row);
    const int within = i - first_row * across;
    return make_int2(first_row + within % height, within / height);
  }
};

// Tiles of rows x cols elements of C, in bands of 2048 rows.
inline TileOrder order_in_bands(int m, int n, int rows, int cols) {
  return {divide_up(m, rows), divide_up(n, cols), 2048 / rows};
}

template <class T, bool kTransposedB>
__global__ void __launch_bounds__(384, 1)
    bf16_gemm_persistent_kernel(const __grid_constant__ CUtensorMap map_a,
                                const __grid_constant__ CUtensorMap map_b, __nv_bfloat16* c, int m,
                                int n, int k, TileOrder tiles) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  static_assert(T::kRows == 128, "two warpgroups multiply, 64 rows each");
  extern __shared__ __align__(1024) unsigned char ring[];
  __shared__ std::uint64_t full[T::kStages], empty[T::kStages];
  if (threadIdx.x == 0) {
    for (int s = 0; s < T::kStages; ++s) {
      ptx::mbarrier_init(&full[s], 1);
      ptx::mbarrier_init(&empty[s], 8);
    }
    ptx::fence_mbarrier_init();
  }
  __syncthreads();

  RingPlace<T::kStages> place;  // goes on from tile to tile
  const int first_tile = static_cast<int>(blockIdx.x), blocks = static_cast<int>(gridDim.x);
  const int warpgroup = threadIdx.x / 128;
  if (warpgroup == 0) {
    ptx::setmaxnreg_dec<kLoadingRegisters>();
    if (threadIdx.x != 0) return;
    for (int i = first_tile; i < tiles.count(); i += blocks) {
      const int2 tile = tiles.at(i);
      for (int p = 0; p < k; p += kStep, place.next()) {
        unsigned char* const stage = ring + place.stage * T::kStageBytes;
        wait(&empty[place.stage], place.phase ^ 1);
        ptx::mbarrier_arrive_expect_tx(&full[place.stage], T::kStageBytes);
        ptx::tensor_load(stage, &map_a, p, tile.x * T::kRows, &full[place.stage]);
        order_b<kTransposedB, T::kCols>(stage + T::kBytesA, &map_b, p, tile.y * T::kCols,
                                        &full[place.stage]);
      }
    }
    return;
  }

  ptx::setmaxnreg_inc<kMultiplyingRegisters>();
  const int first_row = (warpgroup - 1) * 64;
  for (int i = first_tile; i < tiles.count(); i += blocks) {
    const int2 tile = tiles.at(i);
    float sum[T::kCols / 2];
    for (int p = 0; p < k; p += kStep, place.next()) {
      const unsigned char* const stage = ring + place.stage * T::kStageBytes;
      wait(&full[place.stage], place.phase);
      ptx::wgmma_fence();
      multiply_step<kTransposedB>(sum, stage + first_row * kRowBytes, stage + T::kBytesA, p == 0);
      ptx::wgmma_commit_group();
      ptx::wgmma_wait_group<0>();
      if (threadIdx.x % 32 == 0) ptx::mbarrier_arrive(&empty[place.stage]);
    }
    ptx::fence_registers(sum);
    store_pairs(sum, c, tile.x * T::kRows + first_row, tile.y * T::kCols, m, n);
  }
#else
  (void)map_a, (void)map_b, (void)c, (void)m, (void)n, (void)k, (void)tiles;
#endif
}

// C = A B; A is m x k, C is m x n, B is k x n or, if kTransposedB, n x k; all row-major. Device
// pointers; sizes up to 2e9.
template <bool kTransposedB>
void bf16_gemm_persistent(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m,
                          int n, int k, cudaStream_t stream) {
  using T = HopperTile<128, 256, 4>;
  if (!fits_copy_engine(a, k, b, kTransposedB ? k : n, c, n)) {
    return bf16_gemm_multistage<kTransposedB>(a, b, c, m, n, k, stream);
  }
  const auto kernel = bf16_gemm_persistent_kernel<T, kTransposedB>;
  allow_shared(kernel, T::kRingBytes);
  const TileOrder tiles = order_in_bands(m, n, T::kRows, T::kCols);
  kernel<<<std::min(tiles.count(), multiprocessor_count()), 384, T::kRingBytes, stream>>>(
      map_of_a(a, m, k, T::kRows), map_of_b<kTransposedB>(b, n, k, T::kCols), c, m, n, k, tiles);
  CUDA_CHECK(cudaGetLastError());
}
