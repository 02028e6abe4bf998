// warp_specialized: four warps only copy (producers), eight only multiply (consumers).
//
// In `multistage` every warp does everything, and in each k tile all of them wait for each other.
// Here a ring of five stages lies between those who fill them and those who empty them: the
// producers run ahead by up to four k tiles, and into the next tile while this one is stored. TMA
// brings tiles of B, with its zeros past the edge; a tile of A must be transposed, which TMA cannot
// do, so A travels through the producers' registers. A block stays and takes tile after tile, at
// the end its part of the last wave. What is still wrong: six loads for 128 multiply-adds.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/kit/grouped_tiles.cuh"
#include "04_matmul/kit/tile_origin.cuh"
#include "04_matmul/sgemm/kit/add_four.cuh"
#include "04_matmul/sgemm/kit/edges.cuh"
#include "04_matmul/sgemm/kit/pinned_loads.cuh"
#include "04_matmul/sgemm/kit/store_rows.cuh"
#include "04_matmul/sgemm/kit/stream_k_plan.cuh"
#include "04_matmul/sgemm/kit/thread_tile.cuh"
#include "common/kit/check.cuh"
#include "common/kit/launch.cuh"
#include "common/kit/pipeline.cuh"
#include "common/kit/ptx/roles.cuh"
#include "common/kit/ptx/tma.cuh"
#include "common/kit/tensor_map.cuh"

namespace matmul::sgemm {

// A tile, or a part of its sum over k.
struct WorkUnit {
  TileOrigin tile;
  int begin, count;  // the first k tile, and how many
  bool is_shared;    // others have parts of the same elements
};

// What this block computes, one after the other: every gridDim.x-th whole tile, then its part.
template <class T>
struct WorkQueue {
  int m, n;
  const StreamKPlan& plan;
  int tile;                  // the next whole one
  std::int64_t first, last;  // k tiles of its part: the next, and the first that is not in it

  __device__ WorkQueue(int m, int n, const StreamKPlan& plan)
      : m(m), n(n), plan(plan), tile(static_cast<int>(blockIdx.x)), first(0), last(0) {
    if (plan.parts > 0) {
      first = plan.begin(tile);
      last = plan.begin(tile + 1);
    }
  }
  __device__ bool next(WorkUnit& unit) {
    int index = tile;
    if (tile < plan.whole) {
      unit.begin = 0;
      unit.count = plan.k_tiles;
      unit.is_shared = false;
      tile += static_cast<int>(gridDim.x);
    } else if (first < last) {
      const SharedTile shared = plan.tile_at(first, last);
      index = shared.tile;
      unit.begin = shared.begin;
      unit.count = shared.count;
      unit.is_shared = true;
      first += unit.count;
    } else {
      return false;
    }
    unit.tile = grouped_tile<T::kTileM, T::kTileN>(m, n, index);
    return true;
  }
};

// The large tile, and the ring. A stage holds a k tile of A, transposed: its 128 rows of one k lie
// side by side, then those of the next; and after it B's, as it lies in memory.
struct SpecializedTile : LargeTile {
  static constexpr int kStages = 5;
  static constexpr int kTileA = kTileK * kTileM, kTileB = kTileK * kTileN,
                       kStage = kTileA + kTileB;  // floats
  static constexpr int kSharedBytes = kStages * kStage * sizeof(float);
  static constexpr int kConsumers = LargeTile::kThreads, kProducers = 128;  // threads
  // Behind the ring, where C's rows begin anywhere: 16 rows of each consumer warp.
  static constexpr int kStagedBytes = kConsumers / 32 * kStagedFloats<LargeTile> * sizeof(float);
  static constexpr int kThreads = kConsumers + kProducers;
  // Of 168 for each thread at the start: 12 * 168 = 8 * 232 + 4 * 40.
  static constexpr int kConsumerRegisters = 232, kProducerRegisters = 40;
  static_assert(kProducers == kTileM, "a producer has a row of A's tile");
  // The named barrier at which a stage is released. 0 is __syncthreads.
  __host__ __device__ static constexpr int empty_barrier(int stage) { return 1 + stage; }
  static_assert(kStages <= 15, "a block has 15 more");
};

// kVectorsC: float4 fit C's rows.
template <bool kVectorsC>
__global__ void __launch_bounds__(SpecializedTile::kThreads, 1)
    sgemm_warp_specialized_kernel(const float* a, const __grid_constant__ CUtensorMap map_b,
                                  float* c, int m, int n, int k, StreamKPlan plan) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  using T = SpecializedTile;
  extern __shared__ __align__(128) float operand_ring[];
  __shared__ std::uint64_t full[T::kStages];
  if (threadIdx.x == 0) {
    for (int s = 0; s < T::kStages; ++s) ptx::mbarrier_init(&full[s], T::kProducers);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();

  kit::PipelineState<T::kStages> at;  // goes on from unit to unit
  WorkQueue<T> queue(m, n, plan);
  WorkUnit unit;
  // The producers: each brings a row of A's tile and stores it as a column; one has TMA bring B's.
  if (threadIdx.x >= T::kConsumers) {
    ptx::setmaxnreg_dec<T::kProducerRegisters>();
    const int thread = threadIdx.x - T::kConsumers;
    int filled = 0;  // stages, in all units
    // region produce
    while (queue.next(unit)) {
      const int row = min(unit.tile.row + thread, m - 1);  // copies past the edge: never stored
      int step = unit.begin * T::kTileK;
      const float* from = a + static_cast<std::int64_t>(row) * k + step;
#pragma unroll 1
      for (int t = 0; t < unit.count; ++t, step += T::kTileK, from += T::kTileK, at.next()) {
        // A's row, in flight while the stage is waited for.
        float4 held[T::kTileK / 4];
#pragma unroll
        for (int i = 0; i < T::kTileK / 4; ++i) {
          held[i] =
              step + 4 * i < k ? reinterpret_cast<const float4*>(from)[i] : make_float4(0, 0, 0, 0);
        }

        // Until the consumers have released the stage; on the first trip nobody has it.
        float* const stage = operand_ring + at.stage * T::kStage;
        if (filled >= T::kStages) {
          ptx::named_barrier_sync(T::empty_barrier(at.stage), T::kThreads);
        }
        ++filled;

        // One thread has TMA bring B. It has yet to arrive, so `full` cannot complete before.
        if (thread == 0) {
          ptx::fence_proxy_async();  // ordinary loads, another proxy, have read the stage
          ptx::mbarrier_expect_tx(&full[at.stage], sizeof(float) * T::kTileB);
          ptx::tensor_load(stage + T::kTileA, &map_b, unit.tile.col, step, &full[at.stage]);
        }

        // A's row becomes a column.
#pragma unroll
        for (int i = 0; i < T::kTileK / 4; ++i) {
          float* const to = stage + 4 * i * T::kTileM + thread;
          to[0] = held[i].x;
          to[T::kTileM] = held[i].y;
          to[2 * T::kTileM] = held[i].z;
          to[3 * T::kTileM] = held[i].w;
        }
        ptx::mbarrier_arrive(&full[at.stage]);
      }
    }
    // endregion
    // The stages emptied last: nobody fills them again, but no barrier may be left half complete.
    for (int s = 0; s < min(filled, T::kStages); ++s) {
      ptx::named_barrier_sync(T::empty_barrier(s), T::kThreads);
    }
    return;
  }

  // The consumers: 16 x 8 elements of C each, with operands loaded one k ahead. Addresses in shared
  // memory are 32-bit numbers: those of 64 bits take registers and additions.
  ptx::setmaxnreg_inc<T::kConsumerRegisters>();
  const ThreadTile<T> mine;
  constexpr int kLoads = (T::kThreadM + T::kThreadN) / 4;
  constexpr std::uint32_t kFloat = sizeof(float);
  const std::uint32_t first_a = ptx::shared_address(operand_ring + mine.row_of(0));
  const std::uint32_t first_b = ptx::shared_address(operand_ring + T::kTileA + mine.col_of(0));
  while (queue.next(unit)) {
    float acc[T::kThreadM][T::kThreadN] = {};
    float from_a[2][T::kThreadM], from_b[2][T::kThreadN];
    std::uint32_t stage;  // bytes from the ring's beginning
    // The i-th of the loads that bring the operands of one k.
    const auto load = [&](int i, int q, int buffer) {
      if (i < T::kThreadM / 4) {
        const int row = mine.row_of(4 * i) - mine.row_of(0);
        load_four_pinned_at(&from_a[buffer][4 * i],
                            first_a + stage + kFloat * (q * T::kTileM + row));
      } else {
        const int s = 4 * i - T::kThreadM, col = mine.col_of(s) - mine.col_of(0);
        load_four_pinned_at(&from_b[buffer][s], first_b + stage + kFloat * (q * T::kTileN + col));
      }
    };
    // region multiply
    // The first stage, and the operands of its first k.
    kit::wait(&full[at.stage], at.phase);
    stage = at.stage * kFloat * T::kStage;
#pragma unroll
    for (int i = 0; i < kLoads; ++i) load(i, 0, 0);

#pragma unroll 1
    for (int t = 0; t < unit.count; ++t) {
      const bool more = t + 1 < unit.count;
      const int emptied = T::empty_barrier(at.stage);
#pragma unroll
      for (int q = 0; q < T::kTileK; ++q) {
        // The next stage is waited for one k early, so that the loads after it come early, too.
        if (q == T::kTileK - 2) {
          at.next();
          if (more) kit::wait(&full[at.stage], at.phase);
        }
        if (q == T::kTileK - 1 && more) stage = at.stage * kFloat * T::kStage;

          // The next k's operands are loaded while this one's are multiplied, row by row: one row
          // from left to right, the next from right to left.
#pragma unroll
        for (int r = 0; r < T::kThreadM; ++r) {
          if (r % 2 == 0 && r / 2 < kLoads) load(r / 2, (q + 1) % T::kTileK, (q + 1) % 2);
#pragma unroll
          for (int i = 0; i < T::kThreadN; ++i) {
            const int s = r % 2 == 0 ? i : T::kThreadN - 1 - i;
            acc[r][s] += from_a[q % 2][r] * from_b[q % 2][s];
          }
        }
      }
      ptx::named_barrier_arrive(emptied, T::kThreads);
    }
    // endregion

    // Other blocks have other parts of a shared tile.
    if constexpr (!kVectorsC) {
      float* const staging = operand_ring + T::kStages * T::kStage;
      store_rows<T>(acc, staging + threadIdx.x / 32 * kStagedFloats<T>, c, unit.tile, m, n,
                    unit.is_shared);
    } else {
#pragma unroll
      for (int r = 0; r < T::kThreadM; ++r) {
#pragma unroll
        for (int s = 0; s < T::kThreadN; s += 4) {
          const int row = unit.tile.row + mine.row_of(r), col = unit.tile.col + mine.col_of(s);
          if (unit.is_shared) {
            add_four<true>(c, row, col, m, n, &acc[r][s]);
          } else {
            store_four<true>(c, row, col, m, n, &acc[r][s]);
          }
        }
      }
    }
  }
#else
  (void)a, (void)map_b, (void)c, (void)m, (void)n, (void)k, (void)plan;
#endif
}

// B in memory: its rows, of which those that are missing up to k count as zeros, and the floats
// from one to the next.
struct RowsOfB {
  int count, pitch;
};

// With `blocks` blocks, and as many parts or none. float4 fit the rows of A and of B.
inline void launch_warp_specialized(const float* a, const float* b, float* c, int m, int n, int k,
                                    RowsOfB rows, const StreamKPlan& plan, int blocks,
                                    cudaStream_t stream) {
  using T = SpecializedTile;
  const auto width = static_cast<std::uint64_t>(rows.pitch);
  const CUtensorMap map_b = kit::tensor_map(
      b, {width, static_cast<std::uint64_t>(rows.count)}, {sizeof *b * width},
      {T::kTileN, T::kTileK}, CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_SWIZZLE_NONE);
  if (plan.parts > 0) clear_shared_tiles<T>(c, m, n, plan, stream);
  const auto launch = [&](auto kernel, int bytes) {
    kit::allow_shared(kernel, bytes);
    kernel<<<blocks, T::kThreads, bytes, stream>>>(a, map_b, c, m, n, k, plan);
    CUDA_CHECK(cudaGetLastError());
  };
  if (kit::has_vector_rows(c, n)) {
    launch(sgemm_warp_specialized_kernel<true>, T::kSharedBytes);
  } else {
    launch(sgemm_warp_specialized_kernel<false>, T::kSharedBytes + T::kStagedBytes);
  }
}

// The same with a block for each SM.
inline void multiply_specialized(const float* a, const float* b, float* c, int m, int n, int k,
                                 RowsOfB rows, cudaStream_t stream) {
  const int blocks = kit::multiprocessor_count();
  launch_warp_specialized(a, b, c, m, n, k, rows, plan_stream_k<SpecializedTile>(m, n, k, blocks),
                          blocks, stream);
}

// C = A B; A is m x k, B is k x n, C is m x n, all row-major. Device pointers; sizes up to 2e9.
inline void sgemm_warp_specialized(const float* a, const float* b, float* c, int m, int n, int k,
                                   cudaStream_t stream) {
  if (!kit::has_vector_rows(a, k) || !kit::has_vector_rows(b, n)) {
    throw kit::Skip("needs rows of 16 bytes");
  }
  multiply_specialized(a, b, c, m, n, k, {k, n}, stream);
}

}  // namespace matmul::sgemm
