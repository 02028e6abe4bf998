// Rung 8, cluster: a row that is too long for one SM is kept by several (Hopper, sm_90).
//
// The blocks of a cluster run at the same time on neighbouring SMs and may read each other's shared
// memory. Each keeps a part of the row, as in rung 6; then all read the partial sums of
// all and join them in the same order. One read and one write again, up to rows of 900,000 floats.
// A cluster takes one row after the other, and the copy engine (chapter 01, bulk_copy) brings the
// next ones meanwhile: without that, the memory would idle whenever blocks compute and meet.
#pragma once

#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "07_flash_attention/softmax/05_online.cuh"
#include "07_flash_attention/softmax/06_cached.cuh"
#include "07_flash_attention/softmax/07_warp.cuh"
#include "07_flash_attention/softmax/rows.cuh"
#include "common/cuda_check.cuh"
#include "common/ptx.cuh"
#include "common/variant.cuh"

constexpr int kMostClusterBlocks = 16;  // more than 8 needs the consent of the kernel
constexpr int kClusterPart = 16384;     // columns of a block, if 16 blocks are enough
constexpr int kMostStages = 3;          // rows that a block has room for a part of

// Columns are a multiple of 4. `part`: those of a block, a multiple of 4 too; the last blocks may
// have fewer, or none. Cluster c takes the rows c, c + clusters, ...; dynamic shared memory holds
// `stages` parts.
__global__ void __launch_bounds__(kRowThreads)
    softmax_cluster_kernel(const float* x, float* y, int rows, int columns, int part, int stages) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  extern __shared__ float4 shared[];
  __shared__ OnlineSum of_block[2];  // of rows in turn: one is written while the other is read
  __shared__ alignas(8) std::uint64_t arrived[kMostStages];
  const auto cluster = cooperative_groups::this_cluster();
  const int rank = static_cast<int>(cluster.block_rank());
  const int blocks = static_cast<int>(cluster.num_blocks());
  const int clusters = static_cast<int>(gridDim.x) / blocks;
  const int first_row = static_cast<int>(blockIdx.x) / blocks;
  const int count = max(0, min(part, columns - rank * part)) / 4;
  const auto stage_of = [&](int turn) {
    return reinterpret_cast<Piece<4>*>(shared) + turn % stages * (part / 4);
  };
  const auto order = [&](int turn) {  // the part of the row of this turn, if there is one
    const std::int64_t row = first_row + std::int64_t{turn} * clusters;
    if (row >= rows || count == 0) return;
    const auto bytes = static_cast<std::uint32_t>(count * sizeof(Piece<4>));
    ptx::mbarrier_arrive_expect_tx(&arrived[turn % stages], bytes);
    ptx::cp_async_bulk(stage_of(turn), x + row * columns + rank * part, bytes,
                       &arrived[turn % stages]);
  };

  if (threadIdx.x == 0) {
    for (int s = 0; s < stages; ++s) ptx::mbarrier_init(&arrived[s], 1);
    ptx::fence_mbarrier_init();
    for (int s = 0; s < stages; ++s) order(s);
  }
  __syncthreads();

  for (int turn = 0; first_row + std::int64_t{turn} * clusters < rows; ++turn) {
    const std::int64_t row = first_row + std::int64_t{turn} * clusters;
    Piece<4>* const kept = stage_of(turn);
    while (count > 0 &&
           !ptx::mbarrier_try_wait_parity(&arrived[turn % stages], turn / stages % 2)) {
    }
    OnlineSum all = OnlineSum::of_nothing();
    for (int i = threadIdx.x; i < count; i += kRowThreads) all.add(kept[i]);
    all = over_block(all, OnlineSum::join);
    if (threadIdx.x == 0) of_block[turn % 2] = all;
    cluster.sync();
    // Each lane asks one block, so that all answers are on their way at once.
    all = *cluster.map_shared_rank(&of_block[turn % 2], threadIdx.x % blocks);
    for (int step = blocks / 2; step > 0; step /= 2) {
      all = OnlineSum::join(all, all.from_lane(step));
    }
    const float inverse = 1 / all.sum;

    auto* const to = reinterpret_cast<Piece<4>*>(y + row * columns + rank * part);
    for (int i = threadIdx.x; i < count; i += kRowThreads) {
      Piece<4> piece = kept[i];
      for (float& value : piece.x) value = __expf(value - all.largest) * inverse;
      to[i] = piece;
    }
    __syncthreads();  // nobody needs this part any more
    if (threadIdx.x == 0) order(turn + stages);
  }
  cluster.sync();  // nobody may end while others still read its sum
#endif
}

// y = softmax of each row of x. Device pointers, row-major.
inline void softmax_cluster(const float* x, float* y, std::int64_t rows, std::int64_t columns,
                            cudaStream_t stream) {
  static const std::int64_t most = longest_cached_row() / 4 * 4;
  unsigned blocks = 2;
  while (blocks < kMostClusterBlocks && blocks * kClusterPart < columns) blocks *= 2;
  const std::int64_t part = (columns + 4 * blocks - 1) / (4 * blocks) * 4;
  if (columns <= kClusterPart || part > most || !rows_are_aligned(x, y, columns)) {
    softmax_warp(x, y, rows, columns, stream);
    return;
  }
  const auto kernel = softmax_cluster_kernel;
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  static_cast<int>(most * sizeof(float))));
  const int stages = static_cast<int>(std::min<std::int64_t>(kMostStages, most / part));
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {blocks, 1, 1};
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(kRowThreads);
  config.dynamicSmemBytes = stages * part * sizeof(float);
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  int clusters = 0;  // that fit on the device at once: none, if it cannot make them so large
  CUDA_CHECK(
      cudaOccupancyMaxActiveClusters(&clusters, reinterpret_cast<const void*>(kernel), &config));
  if (clusters == 0) throw common::Skip("needs larger clusters than this device has");
  config.gridDim = dim3(blocks * static_cast<unsigned>(std::min<std::int64_t>(clusters, rows)));
  CUDA_CHECK(cudaLaunchKernelEx(&config, kernel, x, y, static_cast<int>(rows),
                                static_cast<int>(columns), static_cast<int>(part), stages));
}
