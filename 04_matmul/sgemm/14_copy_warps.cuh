// Rung 14, copy_warps: four warps only copy, eight only multiply.
//
// In rung 11 every warp does everything, and in each turn all of them wait for each other. Here a
// ring of five stages lies between those who fill it and those who empty it: the first run ahead by
// up to four turns, and into the next tile while this one is stored. The copy engine (TMA) brings
// tiles of B, with its zeros past the edge; a tile of A must be turned, which it cannot do, so A
// travels through the copying warps' registers. A block stays and takes tile after tile, at the end
// its share of the last round. What is still wrong: six loads for 128 multiply-adds.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/ring.cuh"
#include "04_matmul/sgemm/13_shared_round.cuh"
#include "04_matmul/sgemm/pieces.cuh"
#include "04_matmul/sgemm/tiles.cuh"
#include "common/cuda_check.cuh"
#include "common/ptx.cuh"
#include "common/ptx_tensor.cuh"
#include "common/tensor_map.cuh"

// The tiles of rung 11, and the ring. A stage holds a turn's tile of A, turned: its 128 rows of one
// step of the sum lie side by side, then those of the next; and after it B's, as it lies in memory.
struct CopyWarps : LargeTiling {
  static constexpr int kStages = 5;
  static constexpr int kTileA = kDepth * kRows, kTileB = kDepth * kCols, kStage = kTileA + kTileB;
  static constexpr int kSharedBytes = kStages * kStage * sizeof(float);
  static constexpr int kMultiplying = LargeTiling::kThreads, kCopying = 128;  // threads
  static constexpr int kThreads = kMultiplying + kCopying;
  // Of 168 for each thread at the start: 12 * 168 = 8 * 232 + 4 * 40.
  static constexpr int kMultiplyingRegisters = 232, kCopyingRegisters = 40;
  static_assert(kCopying == kRows, "a copying thread has a row of A's tile");
  // The named barrier at which a stage is handed back. 0 is __syncthreads.
  __host__ __device__ static constexpr int empty_barrier(int stage) { return 1 + stage; }
  static_assert(kStages <= 15, "a block has 15 more");
};

__global__ void __launch_bounds__(CopyWarps::kThreads, 1)
    sgemm_copy_warps_kernel(const float* a, const __grid_constant__ CUtensorMap map_b, float* c,
                            int m, int n, int k, Shares shares) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  using T = CopyWarps;
  extern __shared__ __align__(128) float operand_ring[];
  __shared__ std::uint64_t full[T::kStages];
  if (threadIdx.x == 0) {
    for (int s = 0; s < T::kStages; ++s) ptx::mbarrier_init(&full[s], T::kCopying);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();

  RingPlace<T::kStages> place;  // goes on from piece to piece
  Pieces<T> pieces(m, n, shares);
  Piece piece;
  if (threadIdx.x >= T::kMultiplying) {
    ptx::setmaxnreg_dec<T::kCopyingRegisters>();
    const int thread = threadIdx.x - T::kMultiplying;
    int filled = 0;  // stages, in all turns
    // region copy
    while (pieces.next(piece)) {
      const int row = min(piece.tile.row + thread, m - 1);  // copies past the edge: never stored
      int step = piece.begin * T::kDepth;
      const float* from = a + static_cast<std::int64_t>(row) * k + step;
#pragma unroll 1
      for (int t = 0; t < piece.turns; ++t, step += T::kDepth, from += T::kDepth, place.next()) {
        float4 held[T::kDepth / 4];  // on their way while the stage is waited for
#pragma unroll
        for (int i = 0; i < T::kDepth / 4; ++i) {
          held[i] =
              step + 4 * i < k ? reinterpret_cast<const float4*>(from)[i] : make_float4(0, 0, 0, 0);
        }
        float* const stage = operand_ring + place.stage * T::kStage;
        if (filled >= T::kStages) {
          ptx::named_barrier_sync(T::empty_barrier(place.stage), T::kThreads);
        }
        ++filled;
        if (thread == 0) {  // which has yet to arrive, so `full` cannot complete before B has come
          ptx::mbarrier_expect_tx(&full[place.stage], sizeof(float) * T::kTileB);
          ptx::tensor_load(stage + T::kTileA, &map_b, piece.tile.col, step, &full[place.stage]);
        }
#pragma unroll
        for (int i = 0; i < T::kDepth / 4; ++i) {
          float* const to = stage + 4 * i * T::kRows + thread;
          to[0] = held[i].x;
          to[T::kRows] = held[i].y;
          to[2 * T::kRows] = held[i].z;
          to[3 * T::kRows] = held[i].w;
        }
        ptx::mbarrier_arrive(&full[place.stage]);
      }
    }
    // endregion
    // The stages emptied last: nobody fills them again, but no barrier may be left half complete.
    for (int s = 0; s < min(filled, T::kStages); ++s) {
      ptx::named_barrier_sync(T::empty_barrier(s), T::kThreads);
    }
    return;
  }

  ptx::setmaxnreg_inc<T::kMultiplyingRegisters>();
  const Place<T> mine;
  constexpr int kLoads = (T::kThreadRows + T::kThreadCols) / 4;
  constexpr std::uint32_t kFloat = sizeof(float);
  const std::uint32_t first_a = ptx::shared_address(operand_ring + mine.row_of(0));
  const std::uint32_t first_b = ptx::shared_address(operand_ring + T::kTileA + mine.col_of(0));
  while (pieces.next(piece)) {
    float sum[T::kThreadRows][T::kThreadCols] = {};
    float from_a[2][T::kThreadRows], from_b[2][T::kThreadCols];
    std::uint32_t stage;  // bytes from the ring's beginning
    const auto load = [&](int i, int q, int buffer) {
      if (i < T::kThreadRows / 4) {
        const int row = mine.row_of(4 * i) - mine.row_of(0);
        load_four_now_at(&from_a[buffer][4 * i], first_a + stage + kFloat * (q * T::kRows + row));
      } else {
        const int s = 4 * i - T::kThreadRows, col = mine.col_of(s) - mine.col_of(0);
        load_four_now_at(&from_b[buffer][s], first_b + stage + kFloat * (q * T::kCols + col));
      }
    };
    // region multiply
    wait(&full[place.stage], place.phase);
    stage = place.stage * kFloat * T::kStage;
#pragma unroll
    for (int i = 0; i < kLoads; ++i) load(i, 0, 0);
#pragma unroll 1
    for (int t = 0; t < piece.turns; ++t) {
      const bool more = t + 1 < piece.turns;
      const int emptied = T::empty_barrier(place.stage);
#pragma unroll
      for (int q = 0; q < T::kDepth; ++q) {
        if (q == T::kDepth - 2) {  // a step ahead, so that the loads after it come early
          place.next();
          if (more) wait(&full[place.stage], place.phase);
        }
        if (q == T::kDepth - 1 && more) stage = place.stage * kFloat * T::kStage;
#pragma unroll
        for (int r = 0; r < T::kThreadRows; ++r) {
          // The next step's operands are loaded while this one's are multiplied.
          if (r % 2 == 0 && r / 2 < kLoads) load(r / 2, (q + 1) % T::kDepth, (q + 1) % 2);
#pragma unroll
          for (int i = 0; i < T::kThreadCols; ++i) {  // there and back
            const int s = r % 2 == 0 ? i : T::kThreadCols - 1 - i;
            sum[r][s] += from_a[q % 2][r] * from_b[q % 2][s];
          }
        }
      }
      ptx::named_barrier_arrive(emptied, T::kThreads);
    }
    // endregion
#pragma unroll
    for (int r = 0; r < T::kThreadRows; ++r) {
#pragma unroll
      for (int s = 0; s < T::kThreadCols; s += 4) {
        const int row = piece.tile.row + mine.row_of(r), col = piece.tile.col + mine.col_of(s);
        if (piece.is_shared) {
          add_four<true>(c, row, col, m, n, &sum[r][s]);
        } else {
          store_four<true>(c, row, col, m, n, &sum[r][s]);
        }
      }
    }
  }
#else
  (void)a, (void)map_b, (void)c, (void)m, (void)n, (void)k, (void)shares;
#endif
}

// With `blocks` blocks, and as many parts or none. float4 fit the rows of all three matrices.
inline void launch_copy_warps(const float* a, const float* b, float* c, int m, int n, int k,
                              const Shares& shares, int blocks, cudaStream_t stream) {
  using T = CopyWarps;
  const auto width = static_cast<std::uint64_t>(n), height = static_cast<std::uint64_t>(k);
  const CUtensorMap map_b =
      common::tensor_map(b, {width, height}, {sizeof *b * width}, {T::kCols, T::kDepth},
                         CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_SWIZZLE_NONE);
  if (shares.parts > 0) clear_shared_tiles<T>(c, m, n, shares, stream);
  allow_shared(sgemm_copy_warps_kernel, T::kSharedBytes);
  sgemm_copy_warps_kernel<<<blocks, T::kThreads, T::kSharedBytes, stream>>>(a, map_b, c, m, n, k,
                                                                            shares);
  CUDA_CHECK(cudaGetLastError());
}

// C = A B; A is m x k, B is k x n, C is m x n, all row-major. Device pointers; sizes up to 2e9.
// Rows that float4 do not fit, and C of less than a round of tiles, are left to rung 13.
inline void sgemm_copy_warps(const float* a, const float* b, float* c, int m, int n, int k,
                             cudaStream_t stream) {
  using T = CopyWarps;
  const int multiprocessors = multiprocessor_count();
  if (tiles_of<T::kRows, T::kCols>(m, n) < multiprocessors || !has_vector_rows(a, k) ||
      !has_vector_rows(b, n) || !has_vector_rows(c, n)) {
    return sgemm_shared_round(a, b, c, m, n, k, stream);
  }
  launch_copy_warps(a, b, c, m, n, k, share_out<T>(m, n, k, multiprocessors), multiprocessors,
                    stream);
}
