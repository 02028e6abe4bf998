// Rung 11, tuned: 16 x 8 sums a thread, and no step ever waits for its operands.
//
// A thread loads 24 values for 128 multiply-adds, half as many each as before, and loads them one
// step ahead, into a second set of registers: a warp multiplies while its next operands are on
// their way from shared memory, where a ring of tiles is filled further ahead still. All sizes take
// the same loop: rows and columns past the edge are copies of the last one, whose sums nobody
// stores, and what does not fill a whole step of the sum comes first, padded with zeros. What is
// still wrong: 128 x 256 elements a tile leave most SMs without work when C is small.
#pragma once

#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "04_matmul/sgemm/10_async_copy.cuh"
#include "04_matmul/sgemm/tiles.cuh"
#include "common/cuda_check.cuh"

// How a block cuts up its work. A warp's lanes stand 4 by 8; each has pieces of 4 x 4 elements.
template <int kRows_, int kCols_, int kWarpRows_, int kWarpCols_, int kDepth_ = 8, int kStages_ = 3,
          int kBlocks_ = 1>
struct Tiling {
  static constexpr int kRows = kRows_, kCols = kCols_;                  // of C, a block
  static constexpr int kWarpRows = kWarpRows_, kWarpCols = kWarpCols_;  // of C, a warp
  static constexpr int kDepth = kDepth_;                                // of the sum, a step
  static constexpr int kStages = kStages_;  // steps whose tiles are in shared memory
  static constexpr int kBlocks = kBlocks_;  // on an SM at a time, at least
  static constexpr int kThreads = kRows / kWarpRows * (kCols / kWarpCols) * 32;
  static constexpr int kThreadRows = kWarpRows / 4, kThreadCols = kWarpCols / 8;
  static constexpr int kPitchA = kRows + 4;  // floats from one step to the next in A's turned tile
  static constexpr int kStage = kDepth * (kPitchA + kCols);  // floats of both tiles
  static constexpr int kSharedBytes = kStages * kStage * sizeof(float);
  static_assert(kStages >= 2, "one stage in use while another is being filled");
  static_assert(kRows % kWarpRows == 0 && kCols % kWarpCols == 0, "warps fill the tile");
  static_assert(kWarpRows % 16 == 0 && kWarpCols % 32 == 0, "lanes fill the warp's tile");
  static_assert(kRows * kDepth % (4 * kThreads) == 0, "threads share A's tile evenly");
  static_assert(kCols * kDepth % (4 * kThreads) == 0, "threads share B's tile evenly");
};

// A thread's part in filling stages. B's tile is copied by cp.async. A's is turned: with kVectorsA
// a thread loads float4 into registers in one step and stores their floats some steps later, when
// they have come; otherwise cp.async takes float by float.
template <class T, bool kVectorsA, bool kVectorsB>
struct Copier {
  static constexpr int kWide = kVectorsA ? 4 : 1;                   // floats of A at a time
  static constexpr int kPassA = T::kThreads / (T::kDepth / kWide);  // rows of A's tile at a time
  static constexpr int kPassB = T::kThreads / (T::kCols / 4);       // rows of B's tile at a time
  static constexpr int kCopiesA = T::kRows / kPassA, kCopiesB = T::kDepth / kPassB;

  const float *a[kCopiesA], *b;  // what comes next
  std::int64_t b_pitch;
  int a_step, a_row, b_step, b_col, cols_left;
  float4 held[kCopiesA];  // of A, on its way to `to_a`
  float* to_a;

  // For the sum's steps from `begin` on.
  __device__ Copier(const float* from_a, const float* from_b, int m, int n, int k, int begin,
                    TileOrigin tile)
      : b_pitch(n) {
    const int t = threadIdx.x;
    a_step = t % (T::kDepth / kWide) * kWide;
    a_row = t / (T::kDepth / kWide);
#pragma unroll
    for (int i = 0; i < kCopiesA; ++i) {
      const int row = min(tile.row + a_row + i * kPassA, m - 1);
      a[i] = from_a + static_cast<std::int64_t>(row) * k + begin + a_step;
    }
    b_step = t / (T::kCols / 4);
    b_col = t % (T::kCols / 4) * 4;
    const int col = min(tile.col + b_col, kVectorsB ? n - 4 : n - 1);
    cols_left = n - 1 - col;
    b = from_b + (begin + b_step) * b_pitch + col;
  }

  // Orders the next `steps` steps of the sum; if kPartial, the rest of kDepth is zeros.
  template <bool kPartial>
  __device__ void order(float* stage, int steps) {
    to_a = stage + a_step * T::kPitchA + a_row;
#pragma unroll
    for (int i = 0; i < kCopiesA; ++i) {
      const bool inside = !kPartial || a_step < steps;
      if constexpr (kVectorsA) {
        held[i] = inside ? *reinterpret_cast<const float4*>(a[i]) : make_float4(0, 0, 0, 0);
      } else {
        order_copy<4>(to_a + i * kPassA, a[i], inside);
      }
      a[i] += steps;
    }
    float* to_b = stage + T::kDepth * T::kPitchA + b_step * T::kCols + b_col;
#pragma unroll
    for (int i = 0; i < kCopiesB; ++i) {
      const bool inside = !kPartial || b_step + i * kPassB < steps;
      const float* from = b + i * kPassB * b_pitch;
      float* to = to_b + i * kPassB * T::kCols;
      if constexpr (kVectorsB) {
        order_copy<16>(to, from, inside);
      } else {
#pragma unroll
        for (int j = 0; j < 4; ++j) order_copy<4>(to + j, from + min(j, cols_left), inside);
      }
    }
    b += steps * b_pitch;
  }

  // Stores what order() loaded of A.
  __device__ void store() {
    if constexpr (kVectorsA) {
#pragma unroll
      for (int i = 0; i < kCopiesA; ++i) {
        float* to = to_a + i * kPassA;
        to[0] = held[i].x;
        to[T::kPitchA] = held[i].y;
        to[2 * T::kPitchA] = held[i].z;
        to[3 * T::kPitchA] = held[i].w;
      }
    }
  }
};

// Where a thread's pieces are in the tile. Lanes 0 and 1 take different rows and the same columns,
// 2 and 3 the next columns: what a quarter of a warp asks for then fills whole passes.
template <class T>
struct Place {
  int row, col;
  __device__ Place() {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    row = warp / (T::kCols / T::kWarpCols) * T::kWarpRows + (lane / 16 * 2 + lane % 2) * 4;
    col = warp % (T::kCols / T::kWarpCols) * T::kWarpCols + lane / 2 % 8 * 4;
  }
  __device__ int row_of(int r) const { return row + r / 4 * 16 + r % 4; }
  __device__ int col_of(int s) const { return col + s / 4 * 32 + s % 4; }
};

template <class T>
struct Operands {
  float a[T::kThreadRows], b[T::kThreadCols];

  __device__ void load(const float* stage, int q, Place<T> place) {
    const float* from_a = stage + q * T::kPitchA;
    const float* from_b = stage + T::kDepth * T::kPitchA + q * T::kCols;
#pragma unroll
    for (int r = 0; r < T::kThreadRows; r += 4) load_four(&a[r], from_a + place.row_of(r));
#pragma unroll
    for (int s = 0; s < T::kThreadCols; s += 4) load_four(&b[s], from_b + place.col_of(s));
  }
};

// sum = the tile of C at `tile`, as far as the sum's steps begin .. end - 1 contribute to it. With
// kVectorsA, begin and end are multiples of 4.
template <class T, bool kVectorsA, bool kVectorsB>
__device__ void multiply_tile(const float* a, const float* b, int m, int n, int k, int begin,
                              int end, TileOrigin tile, Place<T> place,
                              float (&sum)[T::kThreadRows][T::kThreadCols]) {
  extern __shared__ float4 shared[];
  float* const ring = reinterpret_cast<float*>(shared);
  float* const last = ring + (T::kStages - 1) * T::kStage;
  const auto after = [=](float* stage) { return stage == last ? ring : stage + T::kStage; };

  // All stages but one are filled ahead; a group of copies for each, even if it is empty.
  const int rounds = divide_up(end - begin, T::kDepth);
  Copier<T, kVectorsA, kVectorsB> copier(a, b, m, n, k, begin, tile);
  copier.template order<true>(ring, end - begin - (rounds - 1) * T::kDepth);
  copier.store();
  __pipeline_commit();
#pragma unroll
  for (int s = 1; s < T::kStages - 1; ++s) {
    if (s < rounds) {
      copier.template order<false>(ring + s * T::kStage, T::kDepth);
      copier.store();
    }
    __pipeline_commit();
  }
  __pipeline_wait_prior(T::kStages - 2);
  __syncthreads();

  Operands<T> operands[2];
  float *stage = ring, *free = last;  // the stage in use, and the one to fill next
  operands[0].load(stage, 0, place);
  for (int round = 0; round < rounds; ++round) {
    const bool more = round + T::kStages - 1 < rounds;
#pragma unroll
    for (int q = 0; q < T::kDepth; ++q) {
      if (q == T::kDepth - 1) {
        if (more) copier.store();
        __pipeline_wait_prior(T::kStages - 2);
        __syncthreads();  // the next stage is complete, and this one is free
        if (round + 1 < rounds) stage = after(stage);
      }
      operands[(q + 1) % 2].load(stage, (q + 1) % T::kDepth, place);
      if (q == 0) {
        if (more) copier.template order<false>(free, T::kDepth);
        free = after(free);
        __pipeline_commit();
      }
#pragma unroll
      for (int r = 0; r < T::kThreadRows; ++r) {
#pragma unroll
        for (int s = 0; s < T::kThreadCols; ++s) {
          sum[r][s] += operands[q % 2].a[r] * operands[q % 2].b[s];
        }
      }
    }
  }
}

template <class T, bool kVectorsA, bool kVectorsB>
__global__ void __launch_bounds__(T::kThreads, T::kBlocks)
    sgemm_tuned_kernel(const float* a, const float* b, float* c, int m, int n, int k) {
  const TileOrigin tile = tile_in_bands<T::kRows, T::kCols>(m, n);
  const Place<T> place;
  float sum[T::kThreadRows][T::kThreadCols] = {};
  multiply_tile<T, kVectorsA, kVectorsB>(a, b, m, n, k, 0, k, tile, place, sum);
#pragma unroll
  for (int r = 0; r < T::kThreadRows; ++r) {
#pragma unroll
    for (int s = 0; s < T::kThreadCols; s += 4) {
      store_four<kVectorsB>(c, tile.row + place.row_of(r), tile.col + place.col_of(s), m, n,
                            &sum[r][s]);
    }
  }
}

// More than 48 KB of shared memory must be asked for, once for each kernel.
template <class Kernel>
void allow_shared(Kernel kernel, int bytes) {
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
}

template <class T>
void launch_tuned(const float* a, const float* b, float* c, int m, int n, int k,
                  cudaStream_t stream) {
  with_vectors(a, k, b, c, n, [&](auto vectors_a, auto vectors_b) {
    const auto kernel = sgemm_tuned_kernel<T, vectors_a, vectors_b>;
    allow_shared(kernel, T::kSharedBytes);
    kernel<<<tiles_of<T::kRows, T::kCols>(m, n), T::kThreads, T::kSharedBytes, stream>>>(a, b, c, m,
                                                                                         n, k);
    CUDA_CHECK(cudaGetLastError());
  });
}

using LargeTiling = Tiling<128, 256, 64, 64, 16>;

// C = A B; A is m x k, B is k x n, C is m x n, all row-major. Device pointers; sizes below 2^31.
inline void sgemm_tuned(const float* a, const float* b, float* c, int m, int n, int k,
                        cudaStream_t stream) {
  launch_tuned<LargeTiling>(a, b, c, m, n, k, stream);
}
